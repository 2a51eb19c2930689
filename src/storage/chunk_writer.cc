#include "storage/chunk_writer.h"

#include <algorithm>

#include "base/log.h"
#include "storage/file_io.h"
#include "storage/store.h"
#include "storage/store_shelf.h"

namespace forebay::storage {
namespace {

constexpr size_t kBufferBytes = 256 * kKiB;
// A chunk that outgrows its estimate asks for this share of itself more, so that it asks
// seldom.
constexpr uint64_t kGrowShare = 8;

}  // namespace

ChunkWriter::ChunkWriter(const Options& options)
    : options_(options), hasher_(ChecksumSeed(options.key)), tier_(options.first_tier) {
  if (options.second_copy) copy_ = {.key = options.key};
}

ChunkWriter::~ChunkWriter() { LetGo(); }

void ChunkWriter::LetGo() {
  if (draft_ && kept()) options_.store->Unreserve(tier_, reserved_bytes_);
  draft_.reset();
}

// In a tier, else in memory. Once there is no memory for a second copy, other chunks go
// for it as they do for any chunk.
Status ChunkWriter::Start(uint64_t reserve_bytes) {
  Status in_tier = StartInTier(reserve_bytes);
  if (in_tier.ok() || !options_.memory_last) return in_tier;
  Status in_memory = StartInMemory(reserve_bytes);
  bool lent = in_memory.code() != StatusCode::kFull;
  if (lent || !copy_ || copy_->evicts_all) return in_memory;
  copy_->evicts_all = true;
  tier_ = options_.first_tier;
  return Start(reserve_bytes);
}

// Opens a draft in the first tier from tier_ on that takes one.
Status ChunkWriter::StartInTier(uint64_t reserve_bytes) {
  Status last = Status::Full("the store has no tier left for the chunk");
  for (; kept(); ++tier_) {
    auto draft = options_.store->OpenDraft(tier_, reserve_bytes, copy());
    if (draft.ok()) {
      draft_ = *std::move(draft);
      reserved_bytes_ = reserve_bytes;
      return Status::OK();
    }
    last = draft.status();
  }
  return last;
}

Status ChunkWriter::StartInMemory(uint64_t reserve_bytes) {
  FB_RETURN_NOT_OK(GrowLoan(reserve_bytes));
  auto draft = options_.store->memory_->NewDraft(reserve_bytes);
  if (!draft.ok()) return draft.status();
  draft_ = *std::move(draft);
  return Status::OK();
}

Status ChunkWriter::GrowLoan(uint64_t bytes) {
  if (options_.kind == model::ChunkKind::kManifest || bytes <= loan_.bytes()) {
    return Status::OK();
  }
  return options_.store->Borrow(bytes, &loan_);
}

Status ChunkWriter::Append(const void* data, size_t size) {
  if (!draft_) return Status::Invalid("a committed chunk cannot be appended to");
  hasher_.Update(data, size);
  bool large = size > kBufferBytes / 2;
  if (large || buffer_.size() + size > kBufferBytes) FB_RETURN_NOT_OK(FlushBuffer());
  if (large) return Write(data, size);
  if (buffer_.capacity() == 0) buffer_.reserve(kBufferBytes);
  const char* bytes = static_cast<const char*>(data);
  buffer_.insert(buffer_.end(), bytes, bytes + size);
  return Status::OK();
}

Status ChunkWriter::FlushBuffer() {
  Status written = Write(buffer_.data(), buffer_.size());
  buffer_.clear();
  return written;
}

Status ChunkWriter::Write(const void* data, size_t size) {
  // Each failure moves on to a later tier, so this ends.
  uint64_t before = draft_->size();
  Status written = WriteHere(data, size);
  while (!written.ok()) {
    FB_RETURN_NOT_OK(MoveOn(written, before));
    written = WriteHere(data, size);
  }
  return Status::OK();
}

Status ChunkWriter::WriteHere(const void* data, size_t size) {
  uint64_t end = draft_->size() + size;
  if (kept() && end > reserved_bytes_) {
    uint64_t more = end - reserved_bytes_ + end / kGrowShare;
    FB_RETURN_NOT_OK(options_.store->GrowReservation(tier_, more, copy()));
    reserved_bytes_ += more;
  }
  if (!kept()) FB_RETURN_NOT_OK(GrowLoan(end));
  return draft_->Append(data, size);
}

// Carries the first `size` bytes of the draft to the next tier that takes them.
Status ChunkWriter::MoveOn(const Status& cause, uint64_t size) {
  if (!kept()) return cause;
  options_.store->NoteWriteFailure(tier_, cause);
  Draft old = std::move(*draft_);
  uint64_t reserve = std::max(reserved_bytes_, options_.size_estimate);
  LetGo();
  for (++tier_;; ++tier_) {
    FB_RETURN_NOT_OK(Start(reserve));
    Status copied = CopyFrom(old, size);
    if (copied.ok() || !kept()) return copied;
    options_.store->NoteWriteFailure(tier_, copied);
    LetGo();
  }
}

Status ChunkWriter::CopyFrom(const Draft& old, uint64_t size) {
  return ReadThrough(old.fd(), [&](const char* data, size_t count) {
    uint64_t left = size - draft_->size();
    return WriteHere(data, std::min<uint64_t>(count, left));
  });
}

Result<Chunk> ChunkWriter::Commit() {
  if (!draft_) return Status::Invalid("the chunk was committed already");
  FB_RETURN_NOT_OK(FlushBuffer());
  for (;;) {
    auto chunk = Publish();
    if (chunk.ok()) {
      if (!options_.hand_out || !kept()) return chunk;
      auto lent = options_.store->ForReaders(tier_, *chunk, Deadline::Never());
      // It is there; whoever asks again may have more luck with its server.
      if (!lent.ok()) return Status::Unavailable(lent.status().message());
      return lent;
    }
    FB_RETURN_NOT_OK(MoveOn(chunk.status(), draft_->size()));
  }
}

Result<Chunk> ChunkWriter::Publish() {
  Store& store = *options_.store;
  ChunkName name{.key = options_.key,
                 .checksum = hasher_.Digest(),
                 .size = draft_->size(),
                 .kind = options_.kind};
  int64_t now = store.options_.clock->WallNanos();
  Tier& tier = kept() ? *store.shelves_[tier_]->tier : *store.memory_;
  FB_ASSIGN_OR_RETURN(auto fd, tier.Publish(*draft_, name, now));
  draft_.reset();
  Chunk chunk{.key = name.key,
              .size = name.size,
              .kind = name.kind,
              .medium = model::Medium::kMem,
              .checksum = name.checksum,
              .fd = fd};
  if (kept()) {
    chunk.medium = store.shelves_[tier_]->options.spec.medium;
    store.AddPublished(tier_,
                       {.name = name,
                        .fd = tier.shared() ? nullptr : fd,
                        .verified = true,
                        .last_use_ns = now,
                        .recorded_ns = now},
                       reserved_bytes_);
    store.SettleLater(tier_, name);
    return chunk;
  }
  store.NoteUnkept(name.size);
  loan_.ShrinkTo(name.size);
  chunk = store.Lend(std::move(chunk), std::move(loan_));
  if (copy_) store.RetainLent(chunk);
  return chunk;
}

}  // namespace forebay::storage
