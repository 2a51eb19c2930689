// Statuses become Python exceptions here. Which code is which exception is written once,
// in forebay/errors.py.
#pragma once

#include <exception>
#include <utility>

#include "base/status.h"

namespace forebay::python {

// The one exception of ours: it carries a status to the Python border and no further.
class StatusError : public std::exception {
 public:
  explicit StatusError(Status status) : status_(std::move(status)) {}
  const Status& status() const { return status_; }
  const char* what() const noexcept override { return status_.message().c_str(); }

 private:
  Status status_;
};

inline void Check(const Status& status) {
  if (!status.ok()) throw StatusError(status);
}

template <typename T>
T Unwrap(Result<T> result) {
  if (!result.ok()) throw StatusError(result.status());
  return *std::move(result);
}

}  // namespace forebay::python
