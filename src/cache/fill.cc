#include "cache/fill.h"

#include <arrow/util/byte_size.h>

#include <algorithm>
#include <atomic>

#include "base/arrow_status.h"
#include "cache/peers.h"
#include "table/encode_chunk.h"
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

Status FillFromSource(const FillRequest& request, const FillContext& context) {
  const model::Manifest& manifest = request.view.manifest();
  const model::UnitRecord& unit = manifest.units()[request.unit];
  auto start = std::chrono::steady_clock::now();
  std::atomic<uint64_t> read_ns{0};
  model::Projection columns = NeededColumns(request);
  table::DecodeOptions options{.memory_pool = context.memory,
                               .pool = context.pool,
                               .deadline = context.deadline,
                               .footers = context.footers,
                               .read_ns = &read_ns};
  FB_ASSIGN_OR_RETURN(auto reader, table::OpenUnit(request.view.version->source,
                                                   request.view.version->manifest,
                                                   request.unit, columns, options));
  auto chunk = request.chunks.begin();
  for (uint32_t range = unit.first_range;
       range < unit.first_range + unit.range_count && chunk != request.chunks.end();
       ++range) {
    FB_ASSIGN_OR_RETURN(auto batch, reader->Next());
    if (batch == nullptr) return Status::Corrupt("a unit ended before its last range");
    for (; chunk != request.chunks.end() && chunk->ref.range == range; ++chunk) {
      FB_ASSIGN_OR_RETURN(auto part, SelectGroup(request, *chunk, *batch, columns));
      FB_ASSIGN_OR_RETURN(storage::Chunk stored,
                          Publish(context.store, chunk->key, *part));
      std::chrono::nanoseconds source(read_ns.load());
      auto all = std::chrono::steady_clock::now() - start;
      context.on_chunk(*chunk, stored,
                       {.peer = {}, .source = source, .decode = all - source});
    }
  }
  return Status::OK();
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
