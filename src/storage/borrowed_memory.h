// The budget of memory outside of every tier: chunks that no tier could take, and copies
// of chunks on remote tiers. Such memory lives as long as somebody reads it, so without a
// budget a reader that maps a whole table would take as much memory as the table is
// large. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "storage/chunk.h"

namespace forebay::storage {

class BorrowedMemory {
  struct Account;

 public:
  // A part of the budget, given back when it is destroyed. May outlive the budget. Used
  // by one thread at a time.
  class Loan {
   public:
    Loan() = default;
    ~Loan() { ShrinkTo(0); }
    Loan(Loan&& other) noexcept;
    Loan& operator=(Loan&& other) noexcept;

    // kFull, and unchanged, when the budget has not so much left.
    Status GrowTo(uint64_t bytes);
    void ShrinkTo(uint64_t bytes);
    uint64_t bytes() const { return bytes_; }

   private:
    friend class BorrowedMemory;
    explicit Loan(std::shared_ptr<Account> account) : account_(std::move(account)) {}

    std::shared_ptr<Account> account_;
    uint64_t bytes_ = 0;
  };

  explicit BorrowedMemory(uint64_t bytes_max);

  // kFull, with figures, when the budget has not so much left. The only loan gets all it
  // asks for, so that a chunk larger than the budget can still be served, alone.
  Result<Loan> Borrow(uint64_t bytes);

  uint64_t used_bytes() const;
  uint64_t bytes_max() const;

 private:
  std::shared_ptr<Account> account_;
};

// kFull for a chunk that must not be mapped, because there was no memory for a copy.
Status CheckMappable(const Chunk& chunk);

}  // namespace forebay::storage
