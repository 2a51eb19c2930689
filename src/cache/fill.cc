#include "cache/fill.h"

#include <arrow/util/byte_size.h>

#include <algorithm>
#include <atomic>

#include "base/arrow_status.h"
#include "cache/peers.h"
#include "table/encode_chunk.h"
#include "table/memory_jobs.h"
#include "table/unit_reader.h"

namespace forebay::cache {
namespace {

// Of a chunk's IPC messages, generously; only a hint for making room.
constexpr uint64_t kMetadataBytes = 16 * 1024;

model::Projection NeededColumns(const FillRequest& request) {
  model::Projection columns;
  for (const FillChunk& chunk : request.chunks) {
    auto group = model::GroupColumns(request.view.manifest(), request.unit,
                                     chunk.ref.group, request.view.columns);
    columns.insert(columns.end(), group.begin(), group.end());
  }
  std::ranges::sort(columns);
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

// The chunk's columns out of a batch that holds `decoded` columns.
Result<std::shared_ptr<arrow::RecordBatch>> SelectGroup(
    const FillRequest& request, const FillChunk& chunk, const arrow::RecordBatch& batch,
    const model::Projection& decoded) {
  std::vector<int> indices;
  for (uint32_t column : model::GroupColumns(request.view.manifest(), request.unit,
                                             chunk.ref.group, request.view.columns)) {
    auto at = std::ranges::lower_bound(decoded, column);
    indices.push_back(static_cast<int>(at - decoded.begin()));
  }
  return FromArrow(batch.SelectColumns(indices));
}

Result<storage::Chunk> Publish(storage::Store* store, const Hash128& key,
                               const arrow::RecordBatch& batch) {
  FB_ASSIGN_OR_RETURN(int64_t bytes, FromArrow(arrow::util::ReferencedBufferSize(batch)));
  uint64_t estimate = static_cast<uint64_t>(bytes) + kMetadataBytes;
  FB_ASSIGN_OR_RETURN(auto writer,
                      store->Create(key, model::ChunkKind::kTable, estimate));
  FB_RETURN_NOT_OK(table::EncodeChunk(
      batch, [&](const void* data, size_t size) { return writer->Append(data, size); }));
  return writer->Commit();
}

// Decodes a unit and publishes its missing chunks as they come.
class SourceFill {
 public:
  SourceFill(const FillRequest& request, const FillContext& context)
      : request_(request),
        context_(context),
        columns_(NeededColumns(request)),
        next_(request.chunks.begin()) {}

  Status Run() {
    Status status = Attempt(/*alone=*/false);
    // Room in the store is another matter: decoding again would not make any.
    if (!out_of_memory_ || was_alone_) return Explained(status);
    return Explained(Attempt(/*alone=*/true));
  }

 private:
  using UnitReader = std::unique_ptr<table::UnitReader>;

  Status Attempt(bool alone) {
    out_of_memory_ = false;
    Reservation memory;
    FB_ASSIGN_OR_RETURN(UnitReader reader, Open(alone, &memory));
    was_alone_ = memory.alone();
    const model::UnitRecord& unit = request_.view.manifest().units()[request_.unit];
    uint32_t end = unit.first_range + unit.range_count;
    for (uint32_t range = unit.first_range; range < end && !done(); ++range) {
      FB_ASSIGN_OR_RETURN(auto batch, Decoded(reader->Next()));
      if (batch == nullptr) return Status::Corrupt("a unit ended before its last range");
      FB_RETURN_NOT_OK(PublishRange(range, *batch));
    }
    return Status::OK();
  }

  // With the memory that reading it takes. Footers are read under a reservation of their
  // own, which is given back first: who holds memory does not wait for more.
  Result<UnitReader> Open(bool alone, Reservation* memory) {
    const Version& version = *request_.view.version;
    FB_ASSIGN_OR_RETURN(auto reader, table::OpenUnit(version.source, version.manifest,
                                                     request_.unit, columns_,
                                                     {.memory_pool = context_.memory,
                                                      .pool = context_.pool,
                                                      .deadline = context_.deadline,
                                                      .footers = context_.footers,
                                                      .read_ns = &read_ns_}));
    if (!context_.reserve) return reader;
    FB_ASSIGN_OR_RETURN(
        *memory, context_.reserve({.bytes = reader->OpenMemoryBytes(), .alone = alone}));
    FB_ASSIGN_OR_RETURN(uint64_t bytes, Decoded(reader->MemoryBytes()));
    if (alone || bytes <= memory->bytes()) return reader;
    FB_ASSIGN_OR_RETURN(*memory,
                        context_.reserve({.bytes = bytes, .instead_of = memory}));
    return reader;
  }

  Status PublishRange(uint32_t range, const arrow::RecordBatch& batch) {
    for (; !done() && next_->ref.range == range; ++next_) {
      FB_ASSIGN_OR_RETURN(auto part, SelectGroup(request_, *next_, batch, columns_));
      FB_ASSIGN_OR_RETURN(storage::Chunk stored,
                          Publish(context_.store, next_->key, *part));
      std::chrono::nanoseconds source(read_ns_.load());
      auto all = std::chrono::steady_clock::now() - start_;
      context_.on_chunk(*next_, stored,
                        {.peer = {}, .source = source, .decode = all - source});
    }
    return Status::OK();
  }

  template <typename T>
  Result<T> Decoded(Result<T> result) {
    out_of_memory_ = result.status().code() == StatusCode::kFull;
    return result;
  }
  Status Explained(const Status& status) const {
    return out_of_memory_ ? table::TooLargeForMemory(status) : status;
  }
  bool done() const { return next_ == request_.chunks.end(); }

  const FillRequest& request_;
  const FillContext& context_;
  const model::Projection columns_;
  std::vector<FillChunk>::const_iterator next_;  // to be published
  const TimePoint start_ = std::chrono::steady_clock::now();
  std::atomic<uint64_t> read_ns_{0};
  bool out_of_memory_ = false;
  bool was_alone_ = false;
};

Status FillFromSource(const FillRequest& request, const FillContext& context) {
  return SourceFill(request, context).Run();
}

}  // namespace

Status Fill(const FillRequest& request, const FillContext& context) {
  const auto& peers = request.view.version->peers;
  if (peers == nullptr) return FillFromSource(request, context);
  FillRequest rest = request;
  FB_ASSIGN_OR_RETURN(rest.chunks, peers->Bring(request, context));
  return rest.chunks.empty() ? Status::OK() : FillFromSource(rest, context);
}

}  // namespace forebay::cache
