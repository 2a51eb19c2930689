#include "table/encode_chunk.h"

#include "table/sample_tables.h"

namespace forebay::table {
namespace {

BatchPtr OneBatch(const TablePtr& table) { return *table->CombineChunksToBatch(); }

std::string Encode(const arrow::RecordBatch& batch) {
  std::string out;
  auto status = EncodeChunk(batch, [&](const void* data, size_t size) {
    out.append(static_cast<const char*>(data), size);
    return Status::OK();
  });
  EXPECT_TRUE(status.ok()) << status;
  return out;
}

TEST(EncodeChunk, IsAnIpcFileOfOneBatch) {
  auto batch = OneBatch(People(0, 1000));
  auto bytes = Encode(*batch);
  auto reader = *arrow::ipc::RecordBatchFileReader::Open(
      std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(bytes)));
  ASSERT_EQ(reader->num_record_batches(), 1);
  auto back = *reader->ReadRecordBatch(0);
  EXPECT_TRUE(back->Equals(*batch));
}

TEST(EncodeChunk, AlignsEveryBufferTo64Bytes) {
  auto bytes = Encode(*OneBatch(People(0, 1001, 13)));
  std::shared_ptr<arrow::Buffer> buffer = *arrow::AllocateBuffer(int64_t(bytes.size()));
  std::memcpy(buffer->mutable_data(), bytes.data(), bytes.size());
  ASSERT_EQ(buffer->address() % 64, 0u);
  auto reader = *arrow::ipc::RecordBatchFileReader::Open(
      std::make_shared<arrow::io::BufferReader>(buffer));
  auto back = *reader->ReadRecordBatch(0);
  int buffers = 0;
  for (const auto& column : back->column_data()) {
    for (const auto& part : column->buffers) {
      if (part == nullptr) continue;
      EXPECT_EQ(part->address() % 64, 0u);
      ++buffers;
    }
  }
  EXPECT_GE(buffers, 5);
}

TEST(EncodeChunk, ASliceIsNoLargerThanACopy) {
  auto whole = OneBatch(People(0, 1000, 13));
  auto slice = whole->Slice(333, 10);
  auto copy = *arrow::ConcatenateRecordBatches({slice->Slice(0, 4), slice->Slice(4)});
  EXPECT_EQ(Encode(*slice).size(), Encode(*copy).size());
}

TEST(EncodeChunk, ReturnsTheSinksFailure) {
  auto status = EncodeChunk(*OneBatch(People(0, 10)),
                            [](const void*, size_t) { return Status::Full("no room"); });
  EXPECT_EQ(status, Status::Full("no room"));
}

}  // namespace
}  // namespace forebay::table
