// What Arrow and Parquet report about a file, as our statuses.
#pragma once

#include <arrow/status.h>

#include <exception>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/arrow_status.h"
#include "base/status.h"

namespace forebay::table {

// Whatever a decoder threw, as an Arrow status. Call inside a catch block only.
arrow::Status StatusOfException() noexcept;

// Runs a call into Arrow (returning arrow::Status or arrow::Result) that may throw.
template <typename Call>
auto Guard(Call&& call) -> decltype(call()) {
  try {
    return call();
  } catch (...) {
    return StatusOfException();
  }
}

// A failure while reading a file's bytes: faults of the source stay as they are, what is
// not implemented is kUnsupported, the memory cap kFull, and the rest kCorrupt.
Status DecodeError(const arrow::Status& status);

template <typename T>
Result<T> Decoded(arrow::Result<T> result) {
  if (!result.ok()) return DecodeError(result.status());
  return std::move(result).MoveValueUnsafe();
}
inline Status Decoded(const arrow::Status& status) {
  return status.ok() ? Status::OK() : DecodeError(status);
}

}  // namespace forebay::table
