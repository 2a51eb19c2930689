#include "table/encode_chunk.h"

#include <arrow/io/interfaces.h>
#include <arrow/ipc/writer.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/arrow_status.h"
#include "table/files/flatbuffer.h"

namespace forebay::table {
namespace {

class SinkStream : public arrow::io::OutputStream {
 public:
  explicit SinkStream(const ByteSink& sink) : sink_(sink) {}
  ~SinkStream() override = default;

  using arrow::io::OutputStream::Write;
  arrow::Status Write(const void* data, int64_t size) override {
    position_ += size;
    return ToArrow(sink_(data, static_cast<size_t>(size)));
  }
  arrow::Result<int64_t> Tell() const override { return position_; }
  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }

 private:
  const ByteSink& sink_;
  int64_t position_ = 0;
  bool closed_ = false;
};

constexpr int64_t kAlignment = 64;
constexpr int64_t kPrefixBytes = 8;
constexpr uint32_t kBufferWidth = 16;
alignas(64) constexpr uint8_t kZeros[kAlignment] = {};

// Field numbers of Arrow's Message.fbs.
constexpr uint32_t kHeader = 2, kBodyLength = 3, kBuffers = 2;

int64_t RoundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

std::shared_ptr<arrow::Buffer> Zeros(int64_t count) {
  return std::make_shared<arrow::Buffer>(kZeros, count);
}

void Patch(std::string& bytes, size_t at, int64_t value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
}

// Arrow places buffers at multiples of 8 bytes. This spreads them to multiples of 64 by
// moving the offsets in the batch's metadata and putting zeros between the buffers.
class AlignedFile : public arrow::ipc::internal::IpcPayloadWriter {
 public:
  AlignedFile(std::unique_ptr<IpcPayloadWriter> file, SinkStream* stream)
      : file_(std::move(file)), stream_(stream) {}

  arrow::Status Start() override { return file_->Start(); }
  arrow::Status Close() override { return file_->Close(); }
  arrow::Status WritePayload(const arrow::ipc::IpcPayload& payload) override {
    if (payload.type != arrow::ipc::MessageType::RECORD_BATCH) {
      return file_->WritePayload(payload);
    }
    ARROW_ASSIGN_OR_RAISE(int64_t start, stream_->Tell());
    arrow::ipc::IpcPayload aligned = payload;
    ARROW_RETURN_NOT_OK(Spread(RoundUp(start, kPrefixBytes), &aligned));
    return file_->WritePayload(aligned);
  }

 private:
  static arrow::Status Spread(int64_t start, arrow::ipc::IpcPayload* payload);

  std::unique_ptr<IpcPayloadWriter> file_;
  SinkStream* stream_;
};

arrow::Status AlignedFile::Spread(int64_t start, arrow::ipc::IpcPayload* payload) {
  std::string metadata = payload->metadata->ToString();
  FlatTable message = FlatTable::Root(metadata);
  FlatVector buffers = message.Table(kHeader).Vector(kBuffers, kBufferWidth);
  if (buffers.count != payload->body_buffers.size()) {
    return arrow::Status::UnknownError("a record batch's metadata and body differ");
  }
  auto first = static_cast<size_t>(buffers.items.data() - metadata.data());
  size_t length_at = message.Position(kBodyLength);
  int64_t offset = 0;
  std::vector<std::shared_ptr<arrow::Buffer>> body;
  for (uint32_t i = 0; i < buffers.count; ++i) {
    const auto& buffer = payload->body_buffers[i];
    int64_t size = buffer == nullptr ? 0 : buffer->size();
    Patch(metadata, first + i * kBufferWidth, offset);
    body.push_back(buffer);
    // The writer itself pads to 8.
    body.push_back(Zeros(RoundUp(size, kAlignment) - RoundUp(size, kPrefixBytes)));
    offset += RoundUp(size, kAlignment);
  }
  if (length_at != 0) Patch(metadata, length_at, offset);
  // Zeros behind the metadata, so that the body begins at a multiple of 64 too.
  auto size = static_cast<int64_t>(metadata.size());
  int64_t end = RoundUp(start + kPrefixBytes + size, kAlignment);
  metadata.resize(static_cast<size_t>(end - start - kPrefixBytes));
  payload->metadata = arrow::Buffer::FromString(std::move(metadata));
  payload->body_buffers = std::move(body);
  payload->body_length = offset;
  return arrow::Status::OK();
}

arrow::Status Encode(const arrow::RecordBatch& batch, const ByteSink& sink) {
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  options.use_threads = false;
  options.allow_64bit = true;
  SinkStream stream(sink);
  ARROW_ASSIGN_OR_RAISE(auto file, arrow::ipc::internal::MakePayloadFileWriter(
                                       &stream, batch.schema(), options));
  auto aligned = std::make_unique<AlignedFile>(std::move(file), &stream);
  ARROW_ASSIGN_OR_RAISE(auto writer, arrow::ipc::internal::OpenRecordBatchWriter(
                                         std::move(aligned), batch.schema(), options));
  ARROW_RETURN_NOT_OK(writer->WriteRecordBatch(batch));
  return writer->Close();
}

}  // namespace

Status EncodeChunk(const arrow::RecordBatch& batch, const ByteSink& sink) {
  return FromArrow(Encode(batch, sink));
}

}  // namespace forebay::table
