// Base64 as RFC 4648 has it, with padding: how etcd's JSON carries bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace forebay::meta {

std::string Base64Encode(std::string_view bytes);
// nullopt: not base64.
std::optional<std::string> Base64Decode(std::string_view text);

}  // namespace forebay::meta
