#include "table/files/decode_error.h"

#include <parquet/exception.h>

#include <new>
#include <stdexcept>
#include <string>

namespace forebay::table {

arrow::Status StatusOfException() noexcept {
  try {
    throw;
  } catch (const parquet::ParquetStatusException& error) {
    return error.status();
  } catch (const std::bad_alloc&) {
    return arrow::Status::OutOfMemory("not enough memory to decode it");
  } catch (const std::length_error&) {
    return arrow::Status::SerializationError("it claims an impossible size");
  } catch (const std::exception& error) {
    return arrow::Status::SerializationError(error.what());
  } catch (...) {
    return arrow::Status::UnknownError("the decoder threw something without a name");
  }
}

namespace {

// Parquet has no status code for files that need a key.
bool NeedsDecryption(std::string_view message) {
  return message.find("decrypt") != message.npos ||
         message.find("ncrypted") != message.npos;
}

}  // namespace

Status DecodeError(const arrow::Status& status) {
  if (status.ok()) return Status::OK();
  Status ours = FromArrow(status);
  if (dynamic_cast<const StatusDetail*>(status.detail().get()) != nullptr) return ours;
  if (status.IsOutOfMemory()) {
    return Status::Full(ours.message() + "; raise the cap or write smaller row groups");
  }
  if (status.IsNotImplemented()) return Status::Unsupported(ours.message());
  if (status.IsCancelled()) return ours;
  if (NeedsDecryption(ours.message())) {
    return Status::Unsupported("encrypted files are not read: " + ours.message());
  }
  return Status::Corrupt(ours.message());
}

}  // namespace forebay::table
