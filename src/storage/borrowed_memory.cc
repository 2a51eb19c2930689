#include "storage/borrowed_memory.h"

#include <fmt/format.h>

#include <mutex>
#include <utility>

#include "base/size.h"

namespace forebay::storage {
namespace {

// Each loan holds a descriptor of the node.
constexpr uint64_t kLoansMax = 4096;

}  // namespace

struct BorrowedMemory::Account {
  explicit Account(uint64_t max) : bytes_max(max) {}

  const uint64_t bytes_max;
  std::mutex mutex;
  uint64_t used_bytes = 0;
  uint64_t loan_count = 0;
};

BorrowedMemory::BorrowedMemory(uint64_t bytes_max)
    : account_(std::make_shared<Account>(bytes_max)) {}

Result<BorrowedMemory::Loan> BorrowedMemory::Borrow(uint64_t bytes) {
  Loan loan(account_);
  FB_RETURN_NOT_OK(loan.GrowTo(bytes));
  return loan;
}

uint64_t BorrowedMemory::used_bytes() const {
  std::lock_guard lock(account_->mutex);
  return account_->used_bytes;
}

uint64_t BorrowedMemory::bytes_max() const { return account_->bytes_max; }

BorrowedMemory::Loan::Loan(Loan&& other) noexcept
    : account_(std::move(other.account_)), bytes_(std::exchange(other.bytes_, 0)) {}

BorrowedMemory::Loan& BorrowedMemory::Loan::operator=(Loan&& other) noexcept {
  if (this == &other) return *this;
  ShrinkTo(0);
  account_ = std::move(other.account_);
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

Status BorrowedMemory::Loan::GrowTo(uint64_t bytes) {
  if (bytes <= bytes_) return Status::OK();
  std::lock_guard lock(account_->mutex);
  uint64_t others = account_->used_bytes - bytes_;
  if (others > 0 && others + bytes > account_->bytes_max) {
    return Status::Full(fmt::format(
        "no tier of the store takes a chunk of {}, and readers hold {} of the "
        "{} of memory for such chunks; give the store a larger quota, or the "
        "node a larger --borrowed-memory",
        FormatSize(bytes), FormatSize(others), FormatSize(account_->bytes_max)));
  }
  if (bytes_ == 0 && account_->loan_count == kLoansMax) {
    return Status::Full(fmt::format(
        "no tier of the store takes a chunk, and readers hold {} such chunks, "
        "as many as there may be; give the store a larger quota",
        kLoansMax));
  }
  account_->loan_count += bytes_ == 0 ? 1 : 0;
  account_->used_bytes = others + bytes;
  bytes_ = bytes;
  return Status::OK();
}

void BorrowedMemory::Loan::ShrinkTo(uint64_t bytes) {
  if (account_ == nullptr || bytes >= bytes_) return;
  std::lock_guard lock(account_->mutex);
  account_->used_bytes -= bytes_ - bytes;
  account_->loan_count -= bytes == 0 ? 1 : 0;
  bytes_ = bytes;
}

Status CheckMappable(const Chunk& chunk) {
  if (!chunk.remote) return Status::OK();
  return Status::Full(fmt::format(
      "a chunk of {} is on a remote tier, and readers hold all the memory for "
      "copies of such chunks; give the store a local tier, or the node a "
      "larger --borrowed-memory",
      FormatSize(chunk.size)));
}

}  // namespace forebay::storage
