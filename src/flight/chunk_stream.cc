#include "flight/chunk_stream.h"

#include <arrow/api.h>
#include <arrow/ipc/writer.h>

#include "base/arrow_status.h"
#include "base/bytes.h"
#include "base/mapping.h"
#include "flight/flight_status.h"

namespace forebay::flight {
namespace {

constexpr uint64_t kMessageBytes = uint64_t{2} << 20;

// Bytes of a mapping, which it keeps.
class MappedBuffer : public arrow::Buffer {
 public:
  explicit MappedBuffer(std::shared_ptr<const Mapping> mapping)
      : arrow::Buffer(reinterpret_cast<const uint8_t*>(mapping->data()),
                      static_cast<int64_t>(mapping->size())),
        mapping_(std::move(mapping)) {}

 private:
  std::shared_ptr<const Mapping> mapping_;
};

class ChunkStream : public arrow::flight::FlightDataStream {
 public:
  ChunkStream(std::unique_ptr<ServedChunks> chunks, size_t count,
              std::function<bool()> ended)
      : chunks_(std::move(chunks)), count_(count), ended_(std::move(ended)) {}

  std::shared_ptr<arrow::Schema> schema() override { return ChunkBytesSchema(); }

  arrow::Result<arrow::flight::FlightPayload> GetSchemaPayload() override {
    arrow::flight::FlightPayload payload;
    arrow::ipc::DictionaryFieldMapper mapper(*ChunkBytesSchema());
    ARROW_RETURN_NOT_OK(arrow::ipc::GetSchemaPayload(*ChunkBytesSchema(), options_,
                                                     mapper, &payload.ipc_message));
    return payload;
  }

  arrow::Result<arrow::flight::FlightPayload> Next() override {
    arrow::flight::FlightPayload payload;
    if (at_ == end_) {
      if (next_ == count_) return payload;
      Status status = OpenNext(&payload);
      if (!status.ok()) return ToFlight(status);
    }
    uint64_t size = std::min(kMessageBytes, end_ - at_);
    auto bytes = arrow::SliceBuffer(buffer_, static_cast<int64_t>(at_),
                                    static_cast<int64_t>(size));
    at_ += size;
    auto data = arrow::ArrayData::Make(arrow::uint8(), static_cast<int64_t>(size),
                                       {nullptr, std::move(bytes)}, 0);
    auto batch = arrow::RecordBatch::Make(ChunkBytesSchema(), static_cast<int64_t>(size),
                                          {std::move(data)});
    ARROW_RETURN_NOT_OK(
        arrow::ipc::GetRecordBatchPayload(*batch, options_, &payload.ipc_message));
    return payload;
  }

 private:
  Status OpenNext(arrow::flight::FlightPayload* payload) {
    FB_ASSIGN_OR_RETURN(ServedChunk chunk, chunks_->At(next_, ended_));
    FB_ASSIGN_OR_RETURN(
        auto mapping, Mapping::Map(chunk.fd->get(), chunk.size, Mapping::Mode::kShared));
    buffer_ = std::make_shared<MappedBuffer>(std::move(mapping));
    at_ = 0;
    end_ = chunk.size;
    ChunkHeader header{.index = static_cast<uint32_t>(next_),
                       .size = chunk.size,
                       .key = chunk.key,
                       .checksum = chunk.checksum};
    payload->app_metadata = arrow::Buffer::FromString(header.Encode());
    ++next_;
    return Status::OK();
  }

  std::unique_ptr<ServedChunks> chunks_;
  const size_t count_;
  std::function<bool()> ended_;
  arrow::ipc::IpcWriteOptions options_ = arrow::ipc::IpcWriteOptions::Defaults();
  size_t next_ = 0;
  std::shared_ptr<arrow::Buffer> buffer_;
  uint64_t at_ = 0;
  uint64_t end_ = 0;
};

}  // namespace

std::string ChunkHeader::Encode() const {
  Encoder out;
  out.Put(index);
  out.Put<uint32_t>(0);
  out.Put(size);
  for (const Hash128& hash : {key, checksum}) {
    out.Put(hash.high);
    out.Put(hash.low);
  }
  return out.Take();
}

Result<ChunkHeader> ChunkHeader::Decode(std::string_view bytes) {
  Decoder in(bytes);
  ChunkHeader header;
  header.index = in.Get<uint32_t>();
  in.Get<uint32_t>();
  header.size = in.Get<uint64_t>();
  for (Hash128* hash : {&header.key, &header.checksum}) {
    hash->high = in.Get<uint64_t>();
    hash->low = in.Get<uint64_t>();
  }
  if (!in.done()) return Status::Corrupt("a chunk came with a header that is malformed");
  return header;
}

std::shared_ptr<arrow::Schema> ChunkBytesSchema() {
  static const auto schema =
      arrow::schema({arrow::field("bytes", arrow::uint8(), /*nullable=*/false)});
  return schema;
}

std::unique_ptr<arrow::flight::FlightDataStream> MakeChunkStream(
    std::unique_ptr<ServedChunks> chunks, size_t count, std::function<bool()> ended) {
  return std::make_unique<ChunkStream>(std::move(chunks), count, std::move(ended));
}

}  // namespace forebay::flight
