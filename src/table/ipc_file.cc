// Arrow IPC files (Feather 2) and streams: record batches are the groups.
#include <arrow/io/interfaces.h>
#include <arrow/ipc/api.h>

#include <algorithm>

#include "base/arrow_status.h"
#include "base/size.h"
#include "table/ipc_layout.h"
#include "table/table_file.h"

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

class FileBatches : public BatchStream {
 public:
  FileBatches(std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader, GroupRead read)
      : reader_(std::move(reader)), read_(std::move(read)) {}
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    if (next_ == read_.group_count) return nullptr;
    return reader_->ReadRecordBatch(static_cast<int>(read_.first_group + next_++));
  }

 private:
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader_;
  const GroupRead read_;
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

  arrow::Result<std::unique_ptr<BatchStream>> Read(const GroupRead& read) override {
    size_t count = layout_->batches.size();
    if (read.first_group > count || read.group_count > count - read.first_group) {
      return arrow::Status::SerializationError(
          "the file has fewer batches than expected");
    }
    auto options = arrow::ipc::IpcReadOptions::Defaults();
    options.memory_pool = file_->access().memory_pool;
    options.use_threads = false;
    options.included_fields = read.fields;
    if (layout_->is_stream) return ReadStream(read, options);
    ARROW_ASSIGN_OR_RAISE(auto reader,
                          arrow::ipc::RecordBatchFileReader::Open(file_, options));
    return std::make_unique<FileBatches>(std::move(reader), read);
  }

 private:
  arrow::Result<std::unique_ptr<BatchStream>> ReadStream(
      const GroupRead& read, const arrow::ipc::IpcReadOptions& options) {
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
