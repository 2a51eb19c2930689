#include "source/etag.h"

namespace forebay::source {

std::string StrongEtag(std::string_view header) {
  if (header.starts_with("W/") || header.starts_with("w/")) return {};
  if (header.size() >= 2 && header.front() == '"' && header.back() == '"') {
    header = header.substr(1, header.size() - 2);
  }
  return std::string(header);
}

std::string QuoteEtag(std::string_view etag) { return '"' + std::string(etag) + '"'; }

}  // namespace forebay::source
