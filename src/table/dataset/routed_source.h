// Several sources as one: each URI goes to the source of its scheme and authority. For
// tables whose files lie in more than one place.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "source/source.h"

namespace forebay::table {

// The source for a URI; the same one for the same scheme and authority.
using SourceFinder =
    std::function<Result<std::shared_ptr<source::Source>>(const std::string& uri)>;

// `home` is where the table is; its origin and parallelism count.
std::shared_ptr<source::Source> RouteSources(std::shared_ptr<source::Source> home,
                                             SourceFinder find);

}  // namespace forebay::table
