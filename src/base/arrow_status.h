// The one place where Arrow's statuses become ours. Only folders that link Arrow may
// include this header.
#pragma once

#include <arrow/result.h>
#include <arrow/status.h>
#include <arrow/util/io_util.h>

#include <string>
#include <utility>

#include "base/errno_status.h"
#include "base/status.h"

namespace forebay {

// Carries a Forebay status through Arrow code (a RandomAccessFile of ours, say) and back.
class StatusDetail : public arrow::StatusDetail {
 public:
  explicit StatusDetail(Status status) : status_(std::move(status)) {}
  const char* type_id() const override { return "forebay::StatusDetail"; }
  std::string ToString() const override { return status_.ToString(); }
  const Status& status() const { return status_; }

 private:
  Status status_;
};

inline arrow::Status ToArrow(const Status& status) {
  if (status.ok()) return arrow::Status::OK();
  return arrow::Status(arrow::StatusCode::IOError, status.message(),
                       std::make_shared<StatusDetail>(status));
}

inline StatusCode FromArrowCode(arrow::StatusCode code) {
  switch (code) {
    case arrow::StatusCode::OK: return StatusCode::kOk;
    case arrow::StatusCode::OutOfMemory: return StatusCode::kFull;
    case arrow::StatusCode::CapacityError: return StatusCode::kFull;
    case arrow::StatusCode::KeyError: return StatusCode::kNotFound;
    case arrow::StatusCode::TypeError: return StatusCode::kInvalid;
    case arrow::StatusCode::Invalid: return StatusCode::kInvalid;
    case arrow::StatusCode::IndexError: return StatusCode::kInvalid;
    case arrow::StatusCode::Cancelled: return StatusCode::kCancelled;
    case arrow::StatusCode::NotImplemented: return StatusCode::kUnsupported;
    case arrow::StatusCode::SerializationError: return StatusCode::kCorrupt;
    default: return StatusCode::kInternal;
  }
}

inline Status FromArrow(const arrow::Status& status) {
  if (status.ok()) return Status::OK();
  if (auto* detail = dynamic_cast<const StatusDetail*>(status.detail().get())) {
    return detail->status();
  }
  int error = arrow::internal::ErrnoFromStatus(status);
  StatusCode code = error != 0 ? CodeFromErrno(error) : FromArrowCode(status.code());
  return {code, status.message()};
}

template <typename T>
Result<T> FromArrow(arrow::Result<T> result) {
  if (!result.ok()) return FromArrow(result.status());
  return std::move(result).MoveValueUnsafe();
}

}  // namespace forebay
