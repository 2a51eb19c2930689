#include "table/files/ipc_layout.h"

#include <arrow/io/memory.h>
#include <arrow/ipc/api.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/arrow_status.h"
#include "base/size.h"
#include "table/files/flatbuffer.h"

namespace forebay::table {
namespace {

constexpr std::string_view kFileMagic = "ARROW1";
constexpr int64_t kFileHeadBytes = 8;  // magic, padding
constexpr int64_t kTailBytes = 10;     // int32 footer size, magic
constexpr int64_t kWindowBytes = 64 * kKiB;
constexpr uint32_t kBlockWidth = 24;
constexpr uint32_t kBufferWidth = 16;
constexpr uint64_t kUsualCompression = 2;

// Field numbers of Arrow's Message.fbs and File.fbs.
enum MessageField : uint32_t { kHeaderType = 1, kHeader = 2, kBodyLength = 3 };
enum BatchField : uint32_t { kLength = 0, kBuffers = 2, kCompression = 3, kVariadic = 4 };
enum DictionaryField : uint32_t { kData = 1 };
enum FooterField : uint32_t { kDictionaries = 2, kRecordBatches = 3 };
enum HeaderType : uint8_t { kSchema = 1, kDictionaryBatch = 2, kRecordBatch = 3 };

arrow::Status Broken(std::string_view what) {
  return arrow::Status::SerializationError(
      fmt::format("the IPC metadata is broken: {}", what));
}

std::string_view View(const arrow::Buffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()),
          static_cast<size_t>(buffer.size())};
}

struct Prefix {
  int64_t bytes = 0;  // of the prefix itself
  int64_t metadata_bytes = 0;
};

// 0xFFFFFFFF and a length; before Arrow 0.15 only the length.
Prefix ParsePrefix(std::string_view bytes) {
  int32_t words[2] = {0, 0};
  std::memcpy(words, bytes.data(), std::min<size_t>(bytes.size(), sizeof(words)));
  return words[0] == -1 ? Prefix{8, words[1]} : Prefix{4, words[0]};
}

// How many buffers a type takes in a record batch; -1 when a view's count is broken.
int64_t BufferCount(const arrow::DataType& type, const FlatVector& variadic,
                    uint32_t* next_variadic) {
  int64_t count = static_cast<int64_t>(type.layout().buffers.size());
  switch (type.id()) {
    case arrow::Type::NA: return 0;
    case arrow::Type::DICTIONARY: return 2;
    case arrow::Type::EXTENSION:
      return BufferCount(*static_cast<const arrow::ExtensionType&>(type).storage_type(),
                         variadic, next_variadic);
    case arrow::Type::RUN_END_ENCODED: count = 0; break;
    case arrow::Type::SPARSE_UNION: count = 1; break;
    case arrow::Type::DENSE_UNION: count = 2; break;
    case arrow::Type::STRING_VIEW:
    case arrow::Type::BINARY_VIEW: {
      if (*next_variadic >= variadic.count) return -1;
      auto extra = variadic.Get<int64_t>((*next_variadic)++, sizeof(int64_t), 0);
      return extra < 0 ? -1 : 2 + std::min<int64_t>(extra, INT32_MAX);
    }
    default: break;
  }
  for (const auto& field : type.fields()) {
    int64_t child = BufferCount(*field->type(), variadic, next_variadic);
    if (child < 0) return -1;
    count += child;
  }
  return count;
}

// From the first to the end of the last of some buffers, and their bytes together.
struct BufferSpan {
  arrow::io::ReadRange range{0, 0};
  uint64_t bytes = 0;
};

BufferSpan SpanOf(const FlatVector& buffers, int64_t first, int64_t count) {
  BufferSpan span;
  int64_t begin = INT64_MAX, end = 0;
  for (int64_t i = first; i < first + count && i < buffers.count; ++i) {
    auto offset = buffers.Get<int64_t>(static_cast<uint32_t>(i), kBufferWidth, 0);
    auto length = buffers.Get<int64_t>(static_cast<uint32_t>(i), kBufferWidth, 8);
    if (offset < 0 || length <= 0 || length > INT64_MAX - offset) continue;
    span.bytes += static_cast<uint64_t>(length);
    begin = std::min(begin, offset);
    end = std::max(end, offset + length);
  }
  if (begin < end) span.range = {begin, end - begin};
  return span;
}

void MeasureBatch(const FlatTable& header, const arrow::Schema& schema, IpcBatch* batch) {
  GroupLayout& layout = batch->layout;
  uint64_t rows = layout.row_count;
  FlatVector buffers = header.Vector(kBuffers, kBufferWidth);
  FlatVector variadic = header.Vector(kVariadic, sizeof(int64_t));
  uint64_t factor = header.Table(kCompression).ok() ? kUsualCompression : 1;
  int64_t next_buffer = 0;
  uint32_t next_variadic = 0;
  for (const auto& field : schema.fields()) {
    int64_t count =
        next_buffer < 0 ? -1 : BufferCount(*field->type(), variadic, &next_variadic);
    BufferSpan span = count < 0 ? BufferSpan() : SpanOf(buffers, next_buffer, count);
    next_buffer = count < 0 ? -1 : next_buffer + count;
    batch->column_ranges.push_back(span.range);
    uint64_t bytes = span.bytes * factor;
    auto bits = FixedBits(*field->type());
    if (field->type()->id() == arrow::Type::DICTIONARY) {
      bytes = rows * (kUnknownValueBytes + 4);
    }
    layout.column_bytes.push_back(bits ? (rows * *bits + 7) / 8 : bytes);
  }
  if (next_buffer != static_cast<int64_t>(buffers.count)) batch->column_ranges.clear();
}

arrow::Status AddBatch(const FlatTable& message, IpcBlock block, IpcLayout* layout) {
  FlatTable header = message.Table(kHeader);
  auto rows = header.Scalar<int64_t>(kLength);
  if (!header.ok() || rows < 0) return Broken("a record batch has no rows");
  IpcBatch batch{
      .block = block,
      .dictionaries_before = static_cast<uint32_t>(layout->dictionaries.size()),
      .layout = {.row_count = static_cast<uint64_t>(rows), .column_bytes = {}},
      .column_ranges = {}};
  MeasureBatch(header, *layout->schema, &batch);
  layout->batches.push_back(std::move(batch));
  return arrow::Status::OK();
}

arrow::Result<IpcBlock> CheckBlock(IpcBlock block, int64_t file_bytes) {
  if (block.offset < 0 || block.metadata_bytes <= 0 || block.body_bytes < 0 ||
      block.offset > file_bytes || block.metadata_bytes > file_bytes - block.offset ||
      block.body_bytes > file_bytes - block.offset - block.metadata_bytes) {
    return Broken("a message is outside the file");
  }
  return block;
}

arrow::Result<std::vector<IpcBlock>> ParseBlocks(const FlatVector& vector,
                                                 int64_t file_bytes) {
  std::vector<IpcBlock> blocks;
  for (uint32_t i = 0; i < vector.count; ++i) {
    IpcBlock block{vector.Get<int64_t>(i, kBlockWidth, 0),
                   vector.Get<int32_t>(i, kBlockWidth, 8),
                   vector.Get<int64_t>(i, kBlockWidth, 16)};
    ARROW_ASSIGN_OR_RAISE(block, CheckBlock(block, file_bytes));
    blocks.push_back(block);
  }
  return blocks;
}

arrow::Result<FlatTable> ParseMessage(std::string_view bytes) {
  Prefix prefix = ParsePrefix(bytes);
  auto size = static_cast<int64_t>(bytes.size());
  if (prefix.metadata_bytes <= 0 || prefix.metadata_bytes > size - prefix.bytes) {
    return Broken("a message is longer than its block");
  }
  FlatTable message = FlatTable::Root(bytes.substr(static_cast<size_t>(prefix.bytes)));
  if (!message.ok()) return Broken("a message has no root");
  return message;
}

// What is odd here is found out when the dictionary is read.
void MeasureDictionary(const FlatTable& message, const IpcBlock& block,
                       IpcLayout* layout) {
  if (message.Scalar<uint8_t>(kHeaderType) != kDictionaryBatch) return;
  FlatTable data = message.Table(kHeader).Table(kData);
  auto rows = data.ok() ? data.Scalar<int64_t>(kLength) : 0;
  if (rows <= 0) return;
  uint64_t factor = data.Table(kCompression).ok() ? kUsualCompression : 1;
  uint64_t bytes = static_cast<uint64_t>(block.body_bytes) * factor;
  layout->dictionary_value_bytes =
      std::max(layout->dictionary_value_bytes, bytes / static_cast<uint64_t>(rows) + 1);
}

arrow::Status ReadDictionaryHeaders(const std::shared_ptr<ObjectFile>& file,
                                    IpcLayout* layout) {
  std::vector<arrow::io::ReadRange> ranges;
  for (const IpcBlock& block : layout->dictionaries) {
    ranges.push_back({block.offset, block.metadata_bytes});
  }
  if (ranges.empty()) return arrow::Status::OK();
  ARROW_RETURN_NOT_OK(ToArrow(file->Prefetch(ranges)));
  for (const IpcBlock& block : layout->dictionaries) {
    ARROW_ASSIGN_OR_RAISE(auto bytes, file->ReadAt(block.offset, block.metadata_bytes));
    ARROW_ASSIGN_OR_RAISE(FlatTable message, ParseMessage(View(*bytes)));
    MeasureDictionary(message, block, layout);
  }
  return arrow::Status::OK();
}

// Batch headers are read in parallel and in few requests.
arrow::Status ReadBatchHeaders(const std::shared_ptr<ObjectFile>& file,
                               const std::vector<IpcBlock>& blocks, IpcLayout* layout) {
  std::vector<arrow::io::ReadRange> ranges;
  for (const IpcBlock& block : blocks)
    ranges.push_back({block.offset, block.metadata_bytes});
  ARROW_RETURN_NOT_OK(ToArrow(file->Prefetch(ranges)));
  for (const IpcBlock& block : blocks) {
    ARROW_ASSIGN_OR_RAISE(auto bytes, file->ReadAt(block.offset, block.metadata_bytes));
    ARROW_ASSIGN_OR_RAISE(FlatTable message, ParseMessage(View(*bytes)));
    if (message.Scalar<uint8_t>(kHeaderType) != kRecordBatch) {
      return Broken("a record batch is something else");
    }
    ARROW_RETURN_NOT_OK(AddBatch(message, block, layout));
  }
  return arrow::Status::OK();
}

// Walks a stream's messages, jumping over bodies; small messages share a window.
class StreamWalk {
 public:
  explicit StreamWalk(ObjectFile* file) : file_(file) {}

  // The metadata bytes of the message at `offset`, prefix included; empty at the end.
  arrow::Result<std::string_view> At(int64_t offset) {
    ARROW_ASSIGN_OR_RAISE(int64_t size, file_->GetSize());
    if (offset + 4 > size) return std::string_view();
    ARROW_ASSIGN_OR_RAISE(auto start, Bytes(offset, std::min<int64_t>(8, size - offset)));
    Prefix prefix = ParsePrefix(start);
    if (prefix.metadata_bytes == 0) return std::string_view();
    if (prefix.metadata_bytes < 0 ||
        prefix.metadata_bytes > size - offset - prefix.bytes) {
      return Broken("a message is longer than the file");
    }
    return Bytes(offset, prefix.bytes + prefix.metadata_bytes);
  }

 private:
  arrow::Result<std::string_view> Bytes(int64_t offset, int64_t count) {
    if (window_ == nullptr || offset < start_ ||
        offset + count > start_ + window_->size()) {
      ARROW_ASSIGN_OR_RAISE(window_,
                            file_->ReadAt(offset, std::max(count, kWindowBytes)));
      start_ = offset;
    }
    return View(*window_).substr(static_cast<size_t>(offset - start_),
                                 static_cast<size_t>(count));
  }

  ObjectFile* file_;
  int64_t start_ = 0;
  std::shared_ptr<arrow::Buffer> window_;
};

arrow::Result<std::shared_ptr<arrow::Schema>> ParseSchema(std::string_view bytes) {
  arrow::io::BufferReader reader(std::make_shared<arrow::Buffer>(bytes));
  arrow::ipc::DictionaryMemo memo;
  return arrow::ipc::ReadSchema(&reader, &memo);
}

arrow::Status AddMessage(std::string_view bytes, IpcBlock block, IpcLayout* layout) {
  ARROW_ASSIGN_OR_RAISE(FlatTable message, ParseMessage(bytes));
  auto type = message.Scalar<uint8_t>(kHeaderType);
  if (layout->schema == nullptr) {
    if (type != kSchema) return Broken("the stream does not begin with a schema");
    layout->schema_block = block;
    return ParseSchema(bytes).Value(&layout->schema);
  }
  if (type == kDictionaryBatch) {
    layout->dictionaries.push_back(block);
    MeasureDictionary(message, block, layout);
  }
  if (type == kRecordBatch) return AddBatch(message, block, layout);
  if (type == kSchema) return Broken("the stream has a second schema");
  return arrow::Status::OK();
}

// The footer names the blocks; the schema is that of the stream a file begins with.
arrow::Status ReadFileLayout(const std::shared_ptr<ObjectFile>& file, IpcLayout* layout) {
  ARROW_ASSIGN_OR_RAISE(int64_t size, file->GetSize());
  if (size < kFileHeadBytes + kTailBytes) return Broken("the file is too short");
  ARROW_ASSIGN_OR_RAISE(auto tail, file->ReadAt(size - kTailBytes, kTailBytes));
  if (!View(*tail).ends_with(kFileMagic)) return Broken("the file has no end");
  int32_t footer_bytes = 0;
  std::memcpy(&footer_bytes, tail->data(), sizeof(footer_bytes));
  if (footer_bytes <= 0 || footer_bytes > size - kTailBytes) return Broken("footer size");
  ARROW_ASSIGN_OR_RAISE(auto bytes,
                        file->ReadAt(size - kTailBytes - footer_bytes, footer_bytes));
  FlatTable footer = FlatTable::Root(View(*bytes));
  if (!footer.ok()) return Broken("the footer has no root");
  StreamWalk walk(file.get());
  ARROW_ASSIGN_OR_RAISE(std::string_view schema, walk.At(kFileHeadBytes));
  if (schema.empty()) return Broken("the file has no schema");
  IpcBlock block{kFileHeadBytes, static_cast<int64_t>(schema.size()), 0};
  ARROW_RETURN_NOT_OK(AddMessage(schema, block, layout));
  ARROW_ASSIGN_OR_RAISE(layout->dictionaries,
                        ParseBlocks(footer.Vector(kDictionaries, kBlockWidth), size));
  ARROW_RETURN_NOT_OK(ReadDictionaryHeaders(file, layout));
  ARROW_ASSIGN_OR_RAISE(auto blocks,
                        ParseBlocks(footer.Vector(kRecordBatches, kBlockWidth), size));
  return ReadBatchHeaders(file, blocks, layout);
}

arrow::Status ReadStreamLayout(const std::shared_ptr<ObjectFile>& file,
                               IpcLayout* layout) {
  StreamWalk walk(file.get());
  ARROW_ASSIGN_OR_RAISE(int64_t size, file->GetSize());
  int64_t offset = 0;
  while (true) {
    if (file->access().deadline.passed()) {
      return ToArrow(Status::Deadline("time was up while walking the stream's messages"));
    }
    ARROW_ASSIGN_OR_RAISE(std::string_view bytes, walk.At(offset));
    if (bytes.empty()) break;
    ARROW_ASSIGN_OR_RAISE(FlatTable message, ParseMessage(bytes));
    IpcBlock block{offset, static_cast<int64_t>(bytes.size()),
                   message.Scalar<int64_t>(kBodyLength)};
    ARROW_ASSIGN_OR_RAISE(block, CheckBlock(block, size));
    ARROW_RETURN_NOT_OK(AddMessage(bytes, block, layout));
    offset += block.metadata_bytes + block.body_bytes;
  }
  if (layout->schema == nullptr) return Broken("the stream has no schema");
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<std::shared_ptr<const IpcLayout>> ReadIpcLayout(
    const std::shared_ptr<ObjectFile>& file) {
  auto layout = std::make_shared<IpcLayout>();
  ARROW_ASSIGN_OR_RAISE(auto magic, file->ReadAt(0, kFileMagic.size()));
  if (View(*magic).starts_with("FEA1")) {
    return arrow::Status::NotImplemented(
        "Feather version 1 is not read; write it again with a current pyarrow");
  }
  bool is_file = View(*magic) == kFileMagic;
  ARROW_RETURN_NOT_OK(is_file ? ReadFileLayout(file, layout.get())
                              : ReadStreamLayout(file, layout.get()));
  return layout;
}

}  // namespace forebay::table
