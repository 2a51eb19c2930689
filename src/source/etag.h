// Entity tags as HTTP and S3 spell them.
#pragma once

#include <string>
#include <string_view>

namespace forebay::source {

// "\"abc\"" and "abc" → "abc". Weak tags (W/"abc") do not promise equal bytes: "".
std::string StrongEtag(std::string_view header);
// "abc" → "\"abc\"", for If-Match.
std::string QuoteEtag(std::string_view etag);

}  // namespace forebay::source
