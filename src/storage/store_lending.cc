// Chunks that no local tier holds: memory of the budget, one copy of each chunk.
#include <fmt/format.h>

#include <algorithm>

#include "storage/file_io.h"
#include "storage/store.h"

namespace forebay::storage {

std::optional<Chunk> Store::FindBorrowed(const Hash128& key) {
  std::lock_guard lock(mutex_);
  auto found = borrowed_.find(key);
  if (found == borrowed_.end()) return std::nullopt;
  Chunk chunk = found->second.chunk;
  chunk.fd = found->second.fd.lock();
  if (chunk.fd == nullptr) {
    borrowed_.erase(found);
    return std::nullopt;
  }
  ++stats_.hits;
  return chunk;
}

// Two threads may have made the same chunk: the copy that is known stays, the other goes.
Chunk Store::Lend(Chunk chunk, BorrowedMemory::Loan loan) {
  struct Lent {
    std::shared_ptr<const UniqueFd> fd;
    BorrowedMemory::Loan loan;
  };
  chunk.borrowed = true;
  chunk.medium = model::Medium::kMem;
  const UniqueFd* raw = chunk.fd.get();
  auto lent = std::make_shared<Lent>(std::move(chunk.fd), std::move(loan));
  chunk.fd = std::shared_ptr<const UniqueFd>(lent, raw);
  std::lock_guard lock(mutex_);
  std::erase_if(borrowed_, [](const auto& known) { return known.second.fd.expired(); });
  auto [known, is_new] = borrowed_.try_emplace(chunk.key);
  if (auto live = known->second.fd.lock(); !is_new && live != nullptr) {
    Chunk other = known->second.chunk;
    other.fd = std::move(live);
    return other;
  }
  known->second = {.chunk = chunk, .fd = chunk.fd, .for_readers = nullptr};
  known->second.chunk.fd = nullptr;
  return chunk;
}

// What is only retained goes when memory is needed, so it does not count. Nor does a
// chunk that another reader maps: one more reader of it costs nothing.
Status Store::CheckRoomForOneMore(const Chunk& chunk) const {
  uint64_t mapped = chunk.size;
  for (const auto& [key, lent] : borrowed_) {
    if (lent.for_readers == nullptr) continue;
    if (key == chunk.key) return Status::OK();
    mapped += lent.chunk.size;
  }
  uint64_t one_more = std::max(chunk.size, largest_loan_bytes_);
  if (mapped + one_more <= budget_.bytes_max()) return Status::OK();
  return Status::Full(fmt::format(
      "readers would keep {} of the {} of memory for chunks that no tier takes, and one "
      "more of {} would not fit; give the store a larger quota, or the node a larger "
      "--borrowed-memory",
      FormatSize(mapped), FormatSize(budget_.bytes_max()), FormatSize(one_more)));
}

// A larger part of the budget, for which retained chunks go.
Status Store::Borrow(uint64_t bytes, BorrowedMemory::Loan* loan) {
  {
    std::lock_guard lock(mutex_);
    largest_loan_bytes_ = std::max(largest_loan_bytes_, bytes);
  }
  for (;;) {
    Status status;
    if (loan->bytes() > 0) {
      status = loan->GrowTo(bytes);
    } else {
      auto borrowed = budget_.Borrow(bytes);
      status = borrowed.status();
      if (borrowed.ok()) *loan = *std::move(borrowed);
    }
    if (status.code() != StatusCode::kFull || !DropOldestRetained()) return status;
  }
}

void Store::RetainLent(const Chunk& chunk) {
  std::lock_guard lock(mutex_);
  retained_.push_back(chunk.fd);
}

bool Store::DropOldestRetained() {
  std::shared_ptr<const UniqueFd> freed;  // outside of the lock
  std::lock_guard lock(mutex_);
  if (retained_.empty()) return false;
  freed = std::move(retained_.front());
  retained_.pop_front();
  return true;
}

Result<Chunk> Store::CopyToMemory(const Chunk& chunk) {
  if (auto live = FindBorrowed(chunk.key)) return *std::move(live);
  BorrowedMemory::Loan loan;
  if (chunk.kind != model::ChunkKind::kManifest) {
    FB_RETURN_NOT_OK(Borrow(chunk.size, &loan));
  }
  FB_ASSIGN_OR_RETURN(Draft draft, memory_->NewDraft(chunk.size));
  Hasher hasher(ChecksumSeed(chunk.key));
  FB_RETURN_NOT_OK(ReadThrough(chunk.fd->get(), [&](const char* data, size_t size) {
    hasher.Update(data, size);
    return draft.Append(data, size);
  }));
  if (draft.size() != chunk.size || hasher.Digest() != chunk.checksum) {
    return Status::Corrupt("chunk checksum mismatch");
  }
  Chunk copy = chunk;
  FB_ASSIGN_OR_RETURN(copy.fd, memory_->Publish(draft, {}, 0));
  return Lend(std::move(copy), std::move(loan));
}

}  // namespace forebay::storage
