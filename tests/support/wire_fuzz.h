// What the fuzzer of the reader protocol calls: any bytes at all. The unit tests of
// src/wire run it over the kept corpus and over mutations of it.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "wire/message.h"

namespace forebay::fuzz {

// Whatever is taken for a message is one: it comes back the same, and holds no more than
// its bytes can.
inline void FuzzWire(std::string_view bytes) {
  auto decoded = wire::Decode(bytes);
  if (!decoded.ok()) {
    FB_CHECK(decoded.status().code() == StatusCode::kCorrupt);
    return;
  }
  std::string once = wire::Encode(*decoded);
  auto again = wire::Decode(once);
  FB_CHECK(again.ok());
  FB_CHECK(again->request == decoded->request);
  FB_CHECK(again->message.index() == decoded->message.index());
  // Maps put their keys in order and statuses know their codes; from then on it stays.
  FB_CHECK(wire::Encode(*again) == once);
  // Keys that come twice are one, so it may be shorter, but never longer.
  FB_CHECK(once.size() <= bytes.size());
}

}  // namespace forebay::fuzz
