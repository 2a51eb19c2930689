// Arrow IPC files (Feather 2) and streams: record batches are the groups.
#include <arrow/io/interfaces.h>
#include <arrow/ipc/api.h>

#include <algorithm>
#include <cstring>

#include "base/arrow_status.h"
#include "base/size.h"
#include "table/files/claimed_bytes.h"
#include "table/files/ipc_layout.h"
#include "table/files/table_file.h"

namespace forebay::table {
namespace {

constexpr int64_t kTailGuessBytes = 16 * kKiB;
constexpr uint64_t kLayoutBytesPerBatch = 256;

// The messages of a stream that a group needs, as a stream of their own.
class MessageStream : public arrow::io::InputStream {
 public:
  MessageStream(std::shared_ptr<ObjectFile> file, std::vector<IpcBlock> blocks)
      : file_(std::move(file)), blocks_(std::move(blocks)) {}
  ~MessageStream() override = default;

  arrow::Result<int64_t> Read(int64_t count, void* out) override {
    ARROW_ASSIGN_OR_RAISE(auto part, Take(count));
    return file_->ReadAt(part.offset, part.length, out);
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t count) override {
    ARROW_ASSIGN_OR_RAISE(auto part, Take(count));
    return file_->ReadAt(part.offset, part.length);
  }
  arrow::Result<int64_t> Tell() const override { return position_; }
  arrow::Status Close() override { return arrow::Status::OK(); }
  bool closed() const override { return false; }

 private:
  // Message readers ask for a prefix, metadata or a body, and never across messages.
  arrow::Result<arrow::io::ReadRange> Take(int64_t count) {
    while (next_ < blocks_.size() && Left() == 0) {
      ++next_;
      used_ = 0;
    }
    if (next_ == blocks_.size()) return arrow::io::ReadRange{0, 0};
    arrow::io::ReadRange range{blocks_[next_].offset + used_, std::min(count, Left())};
    used_ += range.length;
    position_ += range.length;
    return range;
  }
  int64_t Left() const {
    return blocks_[next_].metadata_bytes + blocks_[next_].body_bytes - used_;
  }

  std::shared_ptr<ObjectFile> file_;
  std::vector<IpcBlock> blocks_;
  size_t next_ = 0;
  int64_t used_ = 0;
  int64_t position_ = 0;
};

// The body of one message, as a file of its own.
class BodyFile : public arrow::io::RandomAccessFile {
 public:
  BodyFile(ObjectFile* file, const IpcBlock& block)
      : file_(file),
        start_(block.offset + block.metadata_bytes),
        size_(block.body_bytes) {}
  ~BodyFile() override = default;

  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position,
                                                       int64_t count) override {
    if (position < 0 || count < 0 || position > size_ || count > size_ - position) {
      return arrow::Status::SerializationError("a buffer is outside its message");
    }
    return file_->ReadAt(start_ + position, count);
  }
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t count, void* out) override {
    ARROW_ASSIGN_OR_RAISE(auto bytes, ReadAt(position, count));
    std::memcpy(out, bytes->data(), static_cast<size_t>(bytes->size()));
    return bytes->size();
  }
  arrow::Result<int64_t> GetSize() override { return size_; }
  arrow::Result<int64_t> Read(int64_t, void*) override { return NoCursor(); }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t) override {
    return NoCursor();
  }
  arrow::Status Seek(int64_t) override { return NoCursor(); }
  arrow::Result<int64_t> Tell() const override { return NoCursor(); }
  arrow::Status Close() override { return arrow::Status::OK(); }
  bool closed() const override { return false; }

 private:
  static arrow::Status NoCursor() {
    return arrow::Status::NotImplemented("a message body is read by position only");
  }

  ObjectFile* file_;
  const int64_t start_;
  const int64_t size_;
};

// Batches whose columns can be read one by one: only the wanted buffers are fetched.
class ColumnwiseBatches : public BatchStream {
 public:
  ColumnwiseBatches(ObjectFile* file, const IpcLayout& layout, GroupRead read)
      : file_(file), layout_(layout), read_(std::move(read)) {
    options_.memory_pool = file->access().memory_pool;
    options_.use_threads = false;
    options_.included_fields = read_.fields;
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    if (next_ == read_.group_count) return nullptr;
    const IpcBatch& batch = layout_.batches[read_.first_group + next_++];
    ARROW_RETURN_NOT_OK(Prefetch(batch));
    int64_t body = batch.block.offset + batch.block.metadata_bytes;
    ARROW_ASSIGN_OR_RAISE(auto bytes,
                          file_->ReadAt(batch.block.offset, body - batch.block.offset));
    ARROW_ASSIGN_OR_RAISE(auto message,
                          arrow::ipc::Message::Open(Metadata(bytes), EmptyBody()));
    BodyFile body_file(file_, batch.block);
    return arrow::ipc::ReadRecordBatch(*message->metadata(), layout_.schema, &memo_,
                                       options_, &body_file);
  }

 private:
  arrow::Status Prefetch(const IpcBatch& batch) {
    std::vector<arrow::io::ReadRange> ranges = {
        {batch.block.offset, batch.block.metadata_bytes}};
    int64_t body = batch.block.offset + batch.block.metadata_bytes;
    for (int field : read_.fields) {
      if (batch.column_ranges.empty()) break;
      auto range = batch.column_ranges.at(field);
      if (range.length > batch.block.body_bytes) continue;
      ranges.push_back({body + range.offset, range.length});
    }
    file_->Forget();
    return ToArrow(file_->Prefetch(ranges));
  }
  // Without its prefix of 8 bytes, or 4 before Arrow 0.15.
  static std::shared_ptr<arrow::Buffer> Metadata(
      const std::shared_ptr<arrow::Buffer>& bytes) {
    int32_t marker = 0;
    std::memcpy(&marker, bytes->data(), sizeof(marker));
    return arrow::SliceBuffer(bytes, marker == -1 ? 8 : 4);
  }
  static std::shared_ptr<arrow::Buffer> EmptyBody() {
    return std::make_shared<arrow::Buffer>(nullptr, 0);
  }

  ObjectFile* file_;
  const IpcLayout& layout_;
  const GroupRead read_;
  arrow::ipc::IpcReadOptions options_ = arrow::ipc::IpcReadOptions::Defaults();
  arrow::ipc::DictionaryMemo memo_;
  uint32_t next_ = 0;
};

class StreamBatches : public BatchStream {
 public:
  explicit StreamBatches(std::shared_ptr<arrow::ipc::RecordBatchStreamReader> reader)
      : reader_(std::move(reader)) {}
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    return reader_->Next();
  }

 private:
  std::shared_ptr<arrow::ipc::RecordBatchStreamReader> reader_;
};

bool HasDictionary(const arrow::DataType& type) {
  if (type.id() == arrow::Type::DICTIONARY) return true;
  if (type.id() == arrow::Type::EXTENSION) {
    return HasDictionary(*static_cast<const arrow::ExtensionType&>(type).storage_type());
  }
  return std::ranges::any_of(type.fields(),
                             [](const auto& f) { return HasDictionary(*f->type()); });
}

// What an index of a dictionary takes: the smallest one that the type has.
uint64_t IndexBytes(const arrow::DataType& type) {
  if (type.id() == arrow::Type::DICTIONARY) {
    const auto& indices = *static_cast<const arrow::DictionaryType&>(type).index_type();
    return static_cast<uint64_t>(std::max(indices.bit_width() / 8, 1));
  }
  if (type.id() == arrow::Type::EXTENSION) {
    return IndexBytes(*static_cast<const arrow::ExtensionType&>(type).storage_type());
  }
  uint64_t smallest = sizeof(int64_t);
  for (const auto& field : type.fields()) {
    if (!HasDictionary(*field->type())) continue;
    smallest = std::min(smallest, IndexBytes(*field->type()));
  }
  return smallest;
}

bool HasDictionary(const arrow::Schema& schema) {
  return std::ranges::any_of(schema.fields(),
                             [](const auto& f) { return HasDictionary(*f->type()); });
}

class IpcFile : public TableFile {
 public:
  IpcFile(std::shared_ptr<ObjectFile> file, std::shared_ptr<const IpcLayout> layout)
      : file_(std::move(file)), layout_(std::move(layout)) {}

  std::shared_ptr<arrow::Schema> schema() const override { return layout_->schema; }

  arrow::Result<std::vector<GroupLayout>> Groups() override {
    std::vector<GroupLayout> groups;
    for (const IpcBatch& batch : layout_->batches) groups.push_back(batch.layout);
    return groups;
  }

  // Dictionaries stay in memory, and messages that are not read column by column come as
  // a whole.
  arrow::Result<ReadMemory> MemoryOf(const GroupRead& read) override {
    if (ReadsColumns()) return TableFile::MemoryOf(read);
    ARROW_ASSIGN_OR_RAISE(ReadMemory memory, MemoryOfGroups(DecodedGroups(), read));
    int64_t largest = 0;
    for (uint32_t i = 0; i < read.group_count; ++i) {
      const IpcBlock& block = layout_->batches[read.first_group + i].block;
      largest = std::max(largest, block.metadata_bytes + block.body_bytes);
    }
    memory.held_bytes = std::max(memory.held_bytes, static_cast<uint64_t>(largest));
    for (const IpcBlock& block : layout_->dictionaries) {
      memory.held_bytes += static_cast<uint64_t>(block.metadata_bytes + block.body_bytes);
    }
    return memory;
  }

  arrow::Result<std::unique_ptr<BatchStream>> Read(const GroupRead& read) override {
    size_t count = layout_->batches.size();
    if (read.first_group > count || read.group_count > count - read.first_group) {
      return arrow::Status::SerializationError(
          "the file has fewer batches than expected");
    }
    if (!ReadsColumns()) return ReadStream(read);
    return std::make_unique<ColumnwiseBatches>(file_.get(), *layout_, read);
  }

 private:
  // With the values of dictionaries in each row that has them.
  std::vector<GroupLayout> DecodedGroups() const {
    std::vector<GroupLayout> groups;
    for (const IpcBatch& batch : layout_->batches) {
      GroupLayout group = batch.layout;
      for (size_t i = 0; i < group.column_bytes.size(); ++i) {
        const auto& type = *layout_->schema->field(static_cast<int>(i))->type();
        if (!HasDictionary(type) || FixedBits(type)) continue;
        // Of nested ones there are at most as many as indices fit into the column.
        bool nested = type.id() != arrow::Type::DICTIONARY;
        uint64_t values =
            nested ? group.column_bytes[i] / IndexBytes(type) : group.row_count;
        group.column_bytes[i] += ClaimedProduct(values, layout_->dictionary_value_bytes);
      }
      groups.push_back(std::move(group));
    }
    return groups;
  }
  // Dictionaries and foreign byte order need Arrow's stream reader, which takes whole
  // messages.
  bool ReadsColumns() const {
    return layout_->dictionaries.empty() && layout_->schema->is_native_endian() &&
           !HasDictionary(*layout_->schema);
  }
  arrow::Result<std::unique_ptr<BatchStream>> ReadStream(const GroupRead& read) {
    auto options = arrow::ipc::IpcReadOptions::Defaults();
    options.memory_pool = file_->access().memory_pool;
    options.use_threads = false;
    options.included_fields = read.fields;
    std::vector<IpcBlock> blocks = {layout_->schema_block};
    uint32_t dictionary = 0;
    for (uint32_t i = 0; i < read.group_count; ++i) {
      const IpcBatch& batch = layout_->batches[read.first_group + i];
      for (; dictionary < batch.dictionaries_before; ++dictionary) {
        blocks.push_back(layout_->dictionaries[dictionary]);
      }
      blocks.push_back(batch.block);
    }
    auto messages = std::make_shared<MessageStream>(file_, std::move(blocks));
    ARROW_ASSIGN_OR_RAISE(
        auto reader,
        arrow::ipc::RecordBatchStreamReader::Open(
            std::static_pointer_cast<arrow::io::InputStream>(messages), options));
    return std::make_unique<StreamBatches>(std::move(reader));
  }

  std::shared_ptr<ObjectFile> file_;
  std::shared_ptr<const IpcLayout> layout_;
};

}  // namespace

arrow::Result<std::unique_ptr<TableFile>> OpenIpc(const ObjectAccess& access,
                                                  FooterCache* footers) {
  auto file = std::make_shared<ObjectFile>(access);
  Hash128 key = access.object.ContentHash(access.source->origin());
  std::shared_ptr<const IpcLayout> layout;
  if (footers != nullptr) {
    layout = std::dynamic_pointer_cast<const IpcLayout>(footers->Find(key));
  }
  if (layout == nullptr) {
    ARROW_RETURN_NOT_OK(ToArrow(file->PrefetchTail(kTailGuessBytes)));
    ARROW_ASSIGN_OR_RAISE(layout, ReadIpcLayout(file));
    file->Forget();
    if (footers != nullptr) {
      uint64_t bytes = kLayoutBytesPerBatch * (layout->batches.size() + 1);
      footers->Put(key, layout, bytes);
    }
  }
  return std::make_unique<IpcFile>(std::move(file), std::move(layout));
}

}  // namespace forebay::table
