#include "table/encode_chunk.h"

#include <arrow/io/interfaces.h>
#include <arrow/ipc/writer.h>

#include "base/arrow_status.h"

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

constexpr int32_t kBufferAlignment = 64;

arrow::Status Encode(const arrow::RecordBatch& batch, const ByteSink& sink) {
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  options.alignment = kBufferAlignment;
  options.use_threads = false;
  options.allow_64bit = true;
  SinkStream stream(sink);
  ARROW_ASSIGN_OR_RAISE(auto writer,
                        arrow::ipc::MakeFileWriter(&stream, batch.schema(), options));
  ARROW_RETURN_NOT_OK(writer->WriteRecordBatch(batch));
  return writer->Close();
}

}  // namespace

Status EncodeChunk(const arrow::RecordBatch& batch, const ByteSink& sink) {
  return FromArrow(Encode(batch, sink));
}

}  // namespace forebay::table
