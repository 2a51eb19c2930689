// Percent-encoding as RFC 3986 (and AWS signatures) want it.
#pragma once

#include <string>
#include <string_view>

namespace forebay::http {

// Every byte but A–Z a–z 0–9 - . _ ~ becomes %XX.
std::string PercentEncode(std::string_view text);
// The same, but '/' stays: for paths.
std::string PercentEncodePath(std::string_view path);
// "%41" → "A"; a '%' without two hex digits stays as it is. '+' is not a space.
std::string PercentDecode(std::string_view text);

}  // namespace forebay::http
