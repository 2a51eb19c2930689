// Glob patterns over paths: * and ? stay inside a segment, ** crosses them, [a-z] and
// [!a-z] are sets. A wildcard at the start of a segment matches no leading '.' or '_'.
#pragma once

#include <string>
#include <string_view>

namespace forebay::table {

bool IsGlob(std::string_view path);

// The part before the first segment with a wildcard, with its last '/'.
std::string_view GlobBase(std::string_view pattern);

// True when `path`, or a folder it is in, matches the pattern.
bool MatchesGlob(std::string_view pattern, std::string_view path);

}  // namespace forebay::table
