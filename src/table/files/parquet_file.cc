// Parquet: row groups are the groups. Page checksums are verified.
#include <arrow/util/key_value_metadata.h>
#include <fmt/format.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include <algorithm>
#include <numeric>

#include "base/arrow_status.h"
#include "base/size.h"
#include "table/files/claimed_bytes.h"
#include "table/files/parquet_size.h"
#include "table/files/table_file.h"

namespace forebay::table {
namespace {

constexpr int64_t kFooterGuessBytes = 64 * kKiB;
// Column chunks that together are larger are read through buffers while decoding.
constexpr int64_t kPrefetchBytesMax = 64 * kMiB;
constexpr int64_t kStreamBufferMin = 64 * kKiB;
constexpr int64_t kStreamBufferMax = 4 * kMiB;
constexpr int64_t kHoleBytes = 8 * kKiB;
// Writers end a page at about 1 MiB, but look at its size after so many values only.
constexpr uint64_t kPageBytes = 2 * kMiB;
constexpr uint64_t kPageValues = 1024;
constexpr uint64_t kLevelBytes = 2;

using Metadata = std::shared_ptr<parquet::FileMetaData>;

struct ParquetFooter : Footer {
  explicit ParquetFooter(Metadata m) : metadata(std::move(m)) {}
  const Metadata metadata;
};

parquet::ReaderProperties ReaderProperties(const ObjectAccess& access) {
  parquet::ReaderProperties properties(access.memory_pool);
  properties.set_page_checksum_verification(true);
  properties.set_footer_read_size(kFooterGuessBytes);
  return properties;
}

parquet::ArrowReaderProperties ArrowProperties(Int96 int96) {
  parquet::ArrowReaderProperties properties(/*use_threads=*/false);
  if (int96 == Int96::kMicroseconds) {
    properties.set_coerce_int96_timestamp_unit(arrow::TimeUnit::MICRO);
  }
  properties.set_pre_buffer(false);
  return properties;
}

struct ReadPlan {
  std::vector<int> groups;
  std::vector<int> leaves;
  int64_t compressed_bytes = 0;
};

// Arrow joins row groups into one batch, except where dictionaries sit inside lists or
// structs: those come row group by row group.
using GroupSets = std::vector<std::vector<int>>;

class ParquetStream : public BatchStream {
 public:
  ParquetStream(std::unique_ptr<parquet::arrow::FileReader> file, GroupSets groups,
                std::vector<int> leaves)
      : file_(std::move(file)), groups_(std::move(groups)), leaves_(std::move(leaves)) {}

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    while (true) {
      if (reader_ != nullptr) {
        ARROW_ASSIGN_OR_RAISE(auto batch, reader_->Next());
        if (batch != nullptr) return batch;
      }
      if (next_ == groups_.size()) return nullptr;
      ARROW_ASSIGN_OR_RAISE(reader_,
                            file_->GetRecordBatchReader(groups_[next_++], leaves_));
    }
  }

 private:
  std::unique_ptr<parquet::arrow::FileReader> file_;
  const GroupSets groups_;
  const std::vector<int> leaves_;
  size_t next_ = 0;
  std::unique_ptr<arrow::RecordBatchReader> reader_;
};

bool HasDictionary(const arrow::DataType& type) {
  if (type.id() == arrow::Type::DICTIONARY) return true;
  return std::ranges::any_of(type.fields(),
                             [](const auto& f) { return HasDictionary(*f->type()); });
}

class ParquetFile : public TableFile {
 public:
  ParquetFile(const ObjectAccess& access, Metadata metadata,
              std::shared_ptr<ObjectFile> file, Int96 int96)
      : access_(access),
        metadata_(std::move(metadata)),
        file_(std::move(file)),
        int96_(int96) {}

  arrow::Status Init() {
    return parquet::arrow::SchemaManifest::Make(metadata_->schema(),
                                                metadata_->key_value_metadata(),
                                                ArrowProperties(int96_), &manifest_);
  }

  std::shared_ptr<arrow::Schema> schema() const override {
    arrow::FieldVector fields;
    for (const auto& field : manifest_.schema_fields) fields.push_back(field.field);
    auto metadata = manifest_.schema_metadata;
    return arrow::schema(std::move(fields), std::move(metadata));
  }

  arrow::Result<std::vector<GroupLayout>> Groups() override {
    std::vector<GroupLayout> groups;
    for (int i = 0; i < metadata_->num_row_groups(); ++i) {
      ARROW_ASSIGN_OR_RAISE(auto group, MeasureRowGroup(*metadata_, manifest_, i));
      groups.push_back(std::move(group));
    }
    return groups;
  }

  arrow::Result<std::unique_ptr<BatchStream>> Read(const GroupRead& read) override;
  arrow::Result<ReadMemory> MemoryOf(const GroupRead& read) override;
  arrow::Result<std::unique_ptr<parquet::ParquetFileReader>> Parquet() override {
    return parquet::ParquetFileReader::Open(file_, ReaderProperties(access_), metadata_);
  }

 private:
  arrow::Result<ReadPlan> Plan(const GroupRead& read) const;
  GroupSets SplitGroups(const GroupRead& read, const std::vector<int>& groups) const;

  const ObjectAccess access_;
  const Metadata metadata_;
  std::shared_ptr<ObjectFile> file_;
  const Int96 int96_;
  parquet::arrow::SchemaManifest manifest_;
};

void AddLeaves(const parquet::arrow::SchemaField& field, std::vector<int>* leaves) {
  if (field.is_leaf()) leaves->push_back(field.column_index);
  for (const auto& child : field.children) AddLeaves(child, leaves);
}

arrow::Result<ReadPlan> ParquetFile::Plan(const GroupRead& read) const {
  ReadPlan plan;
  auto count = static_cast<uint32_t>(metadata_->num_row_groups());
  if (read.first_group > count || read.group_count > count - read.first_group) {
    return arrow::Status::SerializationError(
        "the file has fewer row groups than expected");
  }
  for (int field : read.fields)
    AddLeaves(manifest_.schema_fields.at(field), &plan.leaves);
  for (uint32_t i = 0; i < read.group_count; ++i) {
    int group = static_cast<int>(read.first_group + i);
    plan.groups.push_back(group);
    auto row_group = metadata_->RowGroup(group);
    for (int leaf : plan.leaves) {
      plan.compressed_bytes += row_group->ColumnChunk(leaf)->total_compressed_size();
    }
  }
  return plan;
}

GroupSets ParquetFile::SplitGroups(const GroupRead& read,
                                   const std::vector<int>& groups) const {
  bool nested_dictionary = std::ranges::any_of(read.fields, [&](int i) {
    const auto& type = *manifest_.schema_fields.at(i).field->type();
    return type.num_fields() > 0 && HasDictionary(type);
  });
  if (!nested_dictionary) return {groups};
  GroupSets sets;
  for (int group : groups) sets.push_back({group});
  return sets;
}

// Of each column, when column chunks are not read ahead.
int64_t StreamBufferBytes(size_t leaf_count) {
  auto leaves = static_cast<int64_t>(std::max<size_t>(leaf_count, 1));
  return std::clamp(kPrefetchBytesMax / leaves, kStreamBufferMin, kStreamBufferMax);
}

// A page and a dictionary, both decompressed. They are parts of the column chunk.
uint64_t PageBytes(const parquet::ColumnChunkMetaData& chunk) {
  auto bytes =
      static_cast<uint64_t>(std::max<int64_t>(chunk.total_uncompressed_size(), 0));
  auto values = static_cast<uint64_t>(std::max<int64_t>(chunk.num_values(), 1));
  uint64_t page = std::max(kPageBytes, kPageValues * (bytes / values));
  return std::min(bytes, page) * (chunk.has_dictionary_page() ? 2 : 1);
}

arrow::Result<ReadMemory> ParquetFile::MemoryOf(const GroupRead& read) {
  ARROW_ASSIGN_OR_RAISE(ReadPlan plan, Plan(read));
  std::vector<uint64_t> pages(plan.leaves.size());
  uint64_t wanted = static_cast<uint64_t>(std::max<int64_t>(read.batch_rows, 1));
  uint64_t densest = 0, all = 0, row_count = 0;
  for (int group : plan.groups) {
    auto row_group = metadata_->RowGroup(group);
    auto rows = static_cast<uint64_t>(std::max<int64_t>(row_group->num_rows(), 0));
    uint64_t bytes = 0;
    for (int field : read.fields) {
      ARROW_ASSIGN_OR_RAISE(uint64_t column,
                            MeasureColumn(*row_group, manifest_.schema_fields.at(field)));
      bytes += column;
    }
    for (size_t i = 0; i < plan.leaves.size(); ++i) {
      auto chunk = row_group->ColumnChunk(plan.leaves[i]);
      pages[i] = std::max(pages[i], PageBytes(*chunk));
      const auto* leaf = metadata_->schema()->Column(plan.leaves[i]);
      uint64_t levels = (leaf->max_definition_level() > 0 ? kLevelBytes : 0) +
                        (leaf->max_repetition_level() > 0 ? kLevelBytes : 0);
      bytes += levels * static_cast<uint64_t>(chunk->num_values());
    }
    densest = std::max(densest, ShareOf(bytes, wanted, rows));
    all += bytes;
    row_count += rows;
  }
  ReadMemory memory;
  // Row groups smaller than a batch are joined.
  memory.batch_bytes = kBufferGrowth * std::max(densest, ShareOf(all, wanted, row_count));
  memory.held_bytes = std::reduce(pages.begin(), pages.end());
  auto compressed = static_cast<uint64_t>(std::max<int64_t>(plan.compressed_bytes, 0));
  uint64_t buffers =
      plan.leaves.size() * static_cast<uint64_t>(StreamBufferBytes(plan.leaves.size()));
  memory.held_bytes += compressed <= kPrefetchBytesMax
                           ? compressed + kFooterGuessBytes
                           : std::min(compressed, buffers) + memory.held_bytes;
  return memory;
}

arrow::Result<std::unique_ptr<BatchStream>> ParquetFile::Read(const GroupRead& read) {
  ARROW_ASSIGN_OR_RAISE(ReadPlan plan, Plan(read));
  auto properties = ReaderProperties(access_);
  bool prefetch = plan.compressed_bytes <= kPrefetchBytesMax;
  if (!prefetch) {
    properties.enable_buffered_stream();
    properties.set_buffer_size(StreamBufferBytes(plan.leaves.size()));
  }
  // Of earlier reads of other groups: a scan that skips groups would collect them all.
  file_->ForgetAllButTail();
  auto raw = parquet::ParquetFileReader::Open(file_, properties, metadata_);
  if (prefetch) {
    ARROW_ASSIGN_OR_RAISE(auto ranges, raw->GetReadRanges(plan.groups, plan.leaves,
                                                          kHoleBytes, kPrefetchBytesMax));
    ARROW_RETURN_NOT_OK(ToArrow(file_->Prefetch(ranges)));
  }
  auto arrow_properties = ArrowProperties(int96_);
  if (read.dictionary >= 0) {
    const auto& field = manifest_.schema_fields.at(read.dictionary);
    if (field.is_leaf()) arrow_properties.set_read_dictionary(field.column_index, true);
  }
  ARROW_ASSIGN_OR_RAISE(
      auto file, parquet::arrow::FileReader::Make(access_.memory_pool, std::move(raw),
                                                  arrow_properties));
  file->set_batch_size(std::max<int64_t>(read.batch_rows, 1));
  return std::make_unique<ParquetStream>(std::move(file), SplitGroups(read, plan.groups),
                                         std::move(plan.leaves));
}

}  // namespace

arrow::Result<std::unique_ptr<TableFile>> OpenParquet(const ObjectAccess& access,
                                                      FooterCache* footers, Int96 int96) {
  auto file = std::make_shared<ObjectFile>(access);
  Hash128 key = access.object.ContentHash(access.source->origin());
  Metadata metadata;
  if (footers != nullptr) {
    auto cached = std::dynamic_pointer_cast<const ParquetFooter>(footers->Find(key));
    if (cached != nullptr) metadata = cached->metadata;
  }
  if (metadata == nullptr) {
    // Small files are then in memory as a whole, and are read with one request.
    ARROW_RETURN_NOT_OK(ToArrow(file->PrefetchTail(kFooterGuessBytes)));
    auto raw = parquet::ParquetFileReader::Open(file, ReaderProperties(access));
    metadata = raw->metadata();
    if (footers != nullptr) {
      footers->Put(key, std::make_shared<ParquetFooter>(metadata), metadata->size());
    }
  }
  auto parquet = std::make_unique<ParquetFile>(access, metadata, file, int96);
  ARROW_RETURN_NOT_OK(parquet->Init());
  return parquet;
}

}  // namespace forebay::table
