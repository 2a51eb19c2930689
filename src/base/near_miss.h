// Guesses which known name a misspelled one stands for.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace forebay {

// The known name that is closest to `given`: one that differs in letter case only, or by
// few enough edits (one for every three letters, at least one; a swap of neighbours is
// one). Of equally close names the first. Empty if none is that close.
std::string_view NearMiss(std::string_view given,
                          std::span<const std::string_view> known);

// For the end of an error: "; did you mean s3.endpoint?", or nothing.
std::string DidYouMean(std::string_view given, std::span<const std::string_view> known);

}  // namespace forebay
