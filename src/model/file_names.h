// Which object names can be file names. Whatever passes stays below the root wherever it
// is used as a path.
#pragma once

#include <cstddef>
#include <string_view>

namespace forebay::model {

constexpr size_t kNameBytesMax = 255;     // NAME_MAX of Linux
constexpr size_t kPathBytesMax = 4000;    // below PATH_MAX, with room for a root
constexpr size_t kTargetBytesMax = 4095;  // PATH_MAX of Linux without its NUL

// Why `path` (relative to the root) cannot be a file's; "" when it can: its parts are not
// empty, "." or "..", have no NUL and at most 255 bytes.
std::string_view WhyNoFileName(std::string_view path);
// Why a link cannot lead to `target`, which may be any text that a link can hold.
std::string_view WhyNoLinkTarget(std::string_view target);

}  // namespace forebay::model
