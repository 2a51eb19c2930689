// Avro: runs of blocks are the groups. There is no footer, so the blocks' headers are
// found by reading through the file once; what was found is kept like a footer.
#include <fmt/format.h>

#include <algorithm>

#include "base/arrow_status.h"
#include "base/size.h"
#include "table/avro/container.h"
#include "table/avro/decoder.h"
#include "table/avro/to_arrow.h"
#include "table/files/claimed_bytes.h"
#include "table/files/table_file.h"

namespace forebay::table {
namespace {

constexpr int64_t kHeaderGuessBytes = 64 * kKiB;
constexpr int64_t kHeaderBytesMax = 64 * kMiB;
constexpr int64_t kWindowBytes = 8 * kMiB;
// Blocks are joined until they have this much. Decoded, a group is then about as large as
// a row range.
constexpr uint64_t kGroupBytes = 4 * kMiB;
constexpr uint64_t kUsualCompression = 3;
constexpr int64_t kSyncBytes = 16;
// Small reads, and buffers of values that double as they fill.
constexpr uint64_t kReadBytes = 256 * kKiB;
constexpr uint64_t kGrowth = 2;
// Two numbers of at most ten bytes.
constexpr int64_t kBlockHeadBytesMax = 20;

struct BlockRun {
  int64_t offset = 0;
  int64_t size = 0;
  uint64_t row_count = 0;
};

struct AvroFooter : Footer {
  avro::Header header;
  std::shared_ptr<arrow::Schema> schema;
  std::vector<BlockRun> runs;
};

arrow::Status CutOff() {
  return arrow::Status::SerializationError("the file ends in the middle of a block");
}

// Walks from block to block; reads in windows, and not what lies inside larger blocks.
class BlockWalk {
 public:
  BlockWalk(ObjectFile* file, const avro::Header& header)
      : file_(file),
        size_(file->access().object.identity.size),
        offset_(static_cast<int64_t>(header.size)),
        sync_(header.sync) {}

  arrow::Result<std::vector<BlockRun>> Run() {
    std::vector<BlockRun> runs;
    while (offset_ < size_) {
      ARROW_ASSIGN_OR_RAISE(BlockRun block, Next());
      bool full = runs.empty() || static_cast<uint64_t>(runs.back().size) >= kGroupBytes;
      if (full) runs.push_back({.offset = block.offset, .size = 0, .row_count = 0});
      runs.back().size += block.size;
      if (__builtin_add_overflow(runs.back().row_count, block.row_count,
                                 &runs.back().row_count)) {
        return arrow::Status::SerializationError("a block claims an impossible size");
      }
    }
    return runs;
  }

 private:
  // A view of [offset, offset + count), cut at the end of the file.
  arrow::Result<std::string_view> View(int64_t offset, int64_t count) {
    count = std::min(count, size_ - offset);
    bool inside = window_ != nullptr && offset >= window_offset_ &&
                  offset + count <= window_offset_ + window_->size();
    if (!inside) {
      ARROW_ASSIGN_OR_RAISE(window_, file_->ReadAt(offset, kWindowBytes));
      window_offset_ = offset;
      if (window_->size() < count) return CutOff();
    }
    return std::string_view(*window_).substr(offset - window_offset_, count);
  }

  arrow::Result<BlockRun> Next() {
    ARROW_ASSIGN_OR_RAISE(std::string_view head, View(offset_, kBlockHeadBytesMax));
    avro::Decoder decoder(head);
    int64_t rows = decoder.Long();
    int64_t bytes = decoder.Long();
    if (!decoder.ok() || rows < 0 || bytes < 0) {
      return arrow::Status::SerializationError("a block has a broken head");
    }
    int64_t payload = offset_ + static_cast<int64_t>(head.size() - decoder.remaining());
    if (bytes > size_ - payload || size_ - payload - bytes < kSyncBytes) return CutOff();
    ARROW_ASSIGN_OR_RAISE(std::string_view sync, View(payload + bytes, kSyncBytes));
    if (sync != sync_) {
      return arrow::Status::SerializationError("a block ends without its sync marker");
    }
    int64_t end = payload + bytes + kSyncBytes;
    BlockRun block{.offset = offset_,
                   .size = end - offset_,
                   .row_count = static_cast<uint64_t>(rows)};
    offset_ = end;
    return block;
  }

  ObjectFile* file_;
  const int64_t size_;
  int64_t offset_;
  const std::string_view sync_;
  std::shared_ptr<arrow::Buffer> window_;
  int64_t window_offset_ = 0;
};

arrow::Result<avro::Header> ReadHeader(ObjectFile& file) {
  int64_t size = file.access().object.identity.size;
  for (int64_t count = kHeaderGuessBytes;; count = std::min(count * 8, kHeaderBytesMax)) {
    ARROW_ASSIGN_OR_RAISE(auto bytes, file.ReadAt(0, std::min(count, size)));
    auto header = avro::ParseHeader(std::string_view(*bytes));
    if (header.ok()) return *std::move(header);
    // More bytes help only where these end too early.
    bool may_go_on = header.status().code() == StatusCode::kCorrupt;
    if (!may_go_on || count >= size || count >= kHeaderBytesMax) {
      return ToArrow(header.status());
    }
  }
}

arrow::Result<std::shared_ptr<const AvroFooter>> ReadFooter(ObjectFile& file) {
  auto footer = std::make_shared<AvroFooter>();
  int64_t size = file.access().object.identity.size;
  if (size <= kWindowBytes) ARROW_RETURN_NOT_OK(ToArrow(file.Prefetch({{0, size}})));
  ARROW_ASSIGN_OR_RAISE(footer->header, ReadHeader(file));
  auto schema = avro::ToArrowSchema(footer->header.schema);
  if (!schema.ok()) return ToArrow(schema.status());
  footer->schema = *schema;
  ARROW_ASSIGN_OR_RAISE(footer->runs, BlockWalk(&file, footer->header).Run());
  return footer;
}

class AvroStream : public BatchStream {
 public:
  AvroStream(ObjectFile* file, const AvroFooter& footer, GroupRead read)
      : file_(file), footer_(footer), read_(std::move(read)) {}

  arrow::Status Init() {
    auto rows = avro::RowReader::Make(footer_.header.schema, read_.fields,
                                      file_->access().memory_pool);
    if (!rows.ok()) return ToArrow(rows.status());
    rows_ = *std::move(rows);
    return arrow::Status::OK();
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    int64_t wanted = std::max<int64_t>(read_.batch_rows, 1);
    while (rows_->row_count() < wanted) {
      if (block_rows_left_ == 0) {
        ARROW_ASSIGN_OR_RAISE(bool more, NextBlock());
        if (!more) break;
        continue;
      }
      ARROW_RETURN_NOT_OK(rows_->Append(decoder_));
      if (!decoder_.ok()) {
        return arrow::Status::SerializationError("a row does not fit its schema");
      }
      if (--block_rows_left_ == 0) {
        ARROW_RETURN_NOT_OK(ToArrow(decoder_.Finish("a block")));
      }
    }
    if (rows_->row_count() == 0) return nullptr;
    return rows_->Finish();
  }

 private:
  arrow::Result<bool> NextBlock() {
    while (true) {
      if (blocks_) {
        avro::Block block;
        auto more = blocks_->Next(&block);
        if (!more.ok()) return ToArrow(more.status());
        if (*more) {
          decoder_ = avro::Decoder(block.bytes);
          block_rows_left_ = block.row_count;
          if (block.row_count == 0) continue;
          return true;
        }
      }
      if (next_ == read_.group_count) return false;
      const BlockRun& run = footer_.runs[read_.first_group + next_++];
      ARROW_ASSIGN_OR_RAISE(bytes_, file_->ReadAt(run.offset, run.size));
      auto blocks = avro::BlockReader::Make(footer_.header, std::string_view(*bytes_));
      if (!blocks.ok()) return ToArrow(blocks.status());
      blocks_.emplace(*std::move(blocks));
    }
  }

  ObjectFile* file_;
  const AvroFooter& footer_;
  const GroupRead read_;
  uint32_t next_ = 0;
  std::unique_ptr<avro::RowReader> rows_;
  std::shared_ptr<arrow::Buffer> bytes_;
  std::optional<avro::BlockReader> blocks_;
  avro::Decoder decoder_{std::string_view()};
  int64_t block_rows_left_ = 0;
};

class AvroFile : public TableFile {
 public:
  AvroFile(std::shared_ptr<ObjectFile> file, std::shared_ptr<const AvroFooter> footer)
      : file_(std::move(file)), footer_(std::move(footer)) {}

  std::shared_ptr<arrow::Schema> schema() const override { return footer_->schema; }

  arrow::Result<std::vector<GroupLayout>> Groups() override {
    std::vector<GroupLayout> groups;
    for (const BlockRun& run : footer_->runs) groups.push_back(Measure(run));
    return groups;
  }

  // Whatever columns are wanted, runs of blocks are read with all of them; rows are
  // decoded a batch at a time.
  arrow::Result<ReadMemory> MemoryOf(const GroupRead& read) override {
    ARROW_RETURN_NOT_OK(CheckRuns(read));
    auto wanted = static_cast<uint64_t>(std::max<int64_t>(read.batch_rows, 1));
    uint64_t densest = 0, all = 0, row_count = 0;
    ReadMemory memory;
    for (uint32_t i = 0; i < read.group_count; ++i) {
      const BlockRun& run = footer_->runs[read.first_group + i];
      GroupLayout group = Measure(run);
      uint64_t bytes = 0;
      for (int field : read.fields) bytes += group.column_bytes.at(field);
      densest = std::max(densest, ShareOf(bytes, wanted, group.row_count));
      all += bytes;
      row_count += group.row_count;
      memory.held_bytes = std::max(memory.held_bytes, static_cast<uint64_t>(run.size));
    }
    // The next run is read while the blocks of the one before are there.
    memory.held_bytes = 2 * memory.held_bytes + kReadBytes;
    memory.batch_bytes = kGrowth * std::max(densest, ShareOf(all, wanted, row_count));
    return memory;
  }

  arrow::Result<std::unique_ptr<BatchStream>> Read(const GroupRead& read) override {
    ARROW_RETURN_NOT_OK(CheckRuns(read));
    auto stream = std::make_unique<AvroStream>(file_.get(), *footer_, read);
    ARROW_RETURN_NOT_OK(stream->Init());
    return stream;
  }

 private:
  arrow::Status CheckRuns(const GroupRead& read) const {
    size_t count = footer_->runs.size();
    if (read.first_group > count || read.group_count > count - read.first_group) {
      return arrow::Status::SerializationError("the file has fewer blocks than expected");
    }
    return arrow::Status::OK();
  }
  // Fixed-size columns exactly, up to their nulls; the others share what is left.
  GroupLayout Measure(const BlockRun& run) const {
    GroupLayout group{.row_count = run.row_count, .column_bytes = {}};
    uint64_t factor =
        footer_->header.compression == avro::Compression::kNone ? 1 : kUsualCompression;
    uint64_t variable = 0;
    for (const auto& field : footer_->schema->fields()) {
      auto bits = FixedBits(*field->type());
      if (!bits) ++variable;
      group.column_bytes.push_back(bits ? ClaimedBytes(run.row_count, *bits) : 0);
    }
    for (int i = 0; i < footer_->schema->num_fields(); ++i) {
      if (FixedBits(*footer_->schema->field(i)->type())) continue;
      group.column_bytes[i] =
          ClaimedProduct(static_cast<uint64_t>(run.size), factor) / variable +
          ClaimedProduct(run.row_count, 4);
    }
    return group;
  }

  std::shared_ptr<ObjectFile> file_;
  std::shared_ptr<const AvroFooter> footer_;
};

}  // namespace

arrow::Result<std::unique_ptr<TableFile>> OpenAvro(const ObjectAccess& access,
                                                   FooterCache* footers) {
  auto file = std::make_shared<ObjectFile>(access);
  Hash128 key = access.object.ContentHash(access.source->origin());
  std::shared_ptr<const AvroFooter> footer;
  if (footers != nullptr) {
    footer = std::dynamic_pointer_cast<const AvroFooter>(footers->Find(key));
  }
  if (footer == nullptr) {
    ARROW_ASSIGN_OR_RAISE(footer, ReadFooter(*file));
    if (footers != nullptr) {
      uint64_t bytes = footer->header.size * 4 + footer->runs.size() * sizeof(BlockRun);
      footers->Put(key, footer, bytes);
    }
  }
  return std::make_unique<AvroFile>(std::move(file), std::move(footer));
}

}  // namespace forebay::table
