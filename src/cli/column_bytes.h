// The bytes of memory that rows of a column occupy.
#pragma once

#include <cstdint>
#include <functional>

#include "reader/column.h"

namespace forebay::cli {

// Calls `each` with every piece of memory that holds the column's rows, children
// included.
void ForEachPiece(const reader::Column& column,
                  const std::function<void(const uint8_t* data, uint64_t size)>& each);

}  // namespace forebay::cli
