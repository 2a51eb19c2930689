// Part of the precompiled headers: says that fmt.cc has compiled fmt's formatting loop.
// Each file that logs would otherwise compile it again, which takes g++ two seconds.
#pragma once

#include <fmt/format.h>

FMT_BEGIN_NAMESPACE
namespace detail {

extern template FMT_API void vformat_to(buffer<char>&, string_view,
                                        basic_format_args<FMT_BUFFER_CONTEXT(char)>,
                                        locale_ref);

}  // namespace detail
FMT_END_NAMESPACE
