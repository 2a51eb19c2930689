// Where in a filter's text something stands, and errors that point there.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace forebay::table::filter {

struct Place {
  uint32_t offset = 0;  // bytes
  uint32_t size = 0;
};

// kInvalid: "filter, column 7: <message>", then the piece of text and a caret under it.
Status ErrorAt(std::string_view text, Place place, std::string_view message);

}  // namespace forebay::table::filter
