// Apart from message.cc, so that whoever reads heads of messages does not load curl.
#include <curl/curl.h>

#include <ctime>
#include <string>

#include "http/message.h"

namespace forebay::http {

std::optional<int64_t> ParseDate(std::string_view text) {
  if (text.empty()) return std::nullopt;
  time_t seconds = curl_getdate(std::string(text).c_str(), nullptr);
  if (seconds < 0) return std::nullopt;
  return seconds;
}

}  // namespace forebay::http
