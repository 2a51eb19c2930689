#include "reader/ipc_layout.h"

#include <fmt/format.h>

#include "reader/flatbuffer_view.h"

namespace forebay::reader {
namespace {

constexpr std::string_view kMagic = "ARROW1";
constexpr uint64_t kHead = 8;                                // magic and padding
constexpr uint64_t kTail = sizeof(int32_t) + kMagic.size();  // footer size, magic
constexpr uint64_t kBlockSize = 24, kNodeSize = 16, kBufferSize = 16;
constexpr int16_t kMetadataV5 = 4;
constexpr uint8_t kRecordBatchHeader = 3;
constexpr uint32_t kContinuation = 0xFFFFFFFF;

// Offsets of a column without rows: Arrow may leave its offset buffer out.
alignas(8) constexpr uint8_t kZeroOffsets[8] = {};

Status Bad(std::string_view what) {
  return Status::Corrupt(fmt::format("The chunk is not a valid Arrow file: {}.", what));
}

struct Body {
  std::string_view message;  // flatbuffer of the record batch
  std::string_view buffers;
};

// Footer → the one record batch's metadata and body.
Result<Body> FindBody(std::string_view bytes) {
  if (bytes.size() < kHead + kTail || !bytes.starts_with(kMagic) ||
      !bytes.ends_with(kMagic)) {
    return Bad("its magic is missing");
  }
  uint64_t end = bytes.size() - kTail;
  int32_t footer_size = FlatBuffer(bytes).Read<int32_t>(end);
  if (footer_size <= 0 || static_cast<uint64_t>(footer_size) > end - kHead) {
    return Bad("its footer is out of bounds");
  }
  FlatBuffer footer(bytes.substr(end - footer_size, footer_size));
  FlatTable root = FlatTable::Root(&footer);
  int16_t version = root.Get<int16_t>(0, 0);
  FlatVector dictionaries = root.Vector(2, kBlockSize);
  FlatVector batches = root.Vector(3, kBlockSize);
  if (!footer.ok()) return Bad("its footer is malformed");
  if (version != kMetadataV5) return Bad("its metadata version is not V5");
  if (dictionaries.count != 0) return Bad("it has dictionaries");
  if (batches.count != 1) return Bad("it does not have exactly one record batch");
  auto offset = footer.Read<int64_t>(batches.at);
  auto metadata_size = footer.Read<int32_t>(batches.at + 8);
  auto body_size = footer.Read<int64_t>(batches.at + 16);
  uint64_t room = end - footer_size;
  bool inside = offset >= 0 && metadata_size >= 8 && body_size >= 0 &&
                static_cast<uint64_t>(offset) <= room &&
                static_cast<uint64_t>(metadata_size) <= room - offset &&
                static_cast<uint64_t>(body_size) <= room - offset - metadata_size;
  if (!inside) return Bad("its record batch is out of bounds");
  return Body{.message = bytes.substr(offset, metadata_size),
              .buffers = bytes.substr(offset + metadata_size, body_size)};
}

// The record batch's nodes and buffers, taken one by one in depth-first field order.
class BatchMetadata {
 public:
  // `message` starts with the continuation marker and the flatbuffer's size.
  explicit BatchMetadata(const Body& body)
      : flat_(body.message.substr(8)), body_(body.buffers) {
    FlatBuffer prefix(body.message);
    if (prefix.Read<uint32_t>(0) != kContinuation) flat_.Fail();
    FlatTable message = FlatTable::Root(&flat_);
    if (message.Get<uint8_t>(1, 0) != kRecordBatchHeader || !message.Has(2)) flat_.Fail();
    if (!flat_.ok()) return;
    FlatTable batch = message.Table(2);
    length_ = batch.Get<int64_t>(0, 0);
    nodes_ = batch.Vector(1, kNodeSize);
    buffers_ = batch.Vector(2, kBufferSize);
    if (batch.Has(3)) flat_.Fail();  // compression
  }

  bool ok() const { return flat_.ok(); }
  uint64_t length() const { return static_cast<uint64_t>(length_); }
  bool AllTaken() const { return nodes_.count == 0 && buffers_.count == 0; }

  Status NextNode(ChunkColumn* column) {
    if (nodes_.count == 0) return Bad("it has too few columns");
    auto length = flat_.Read<int64_t>(nodes_.at);
    auto nulls = flat_.Read<int64_t>(nodes_.at + 8);
    if (length < 0 || length > INT64_MAX / 16 || nulls < 0 || nulls > length) {
      return Bad("a column's counts make no sense");
    }
    nodes_ = {nodes_.at + kNodeSize, nodes_.count - 1};
    column->length = static_cast<uint64_t>(length);
    column->null_count = static_cast<uint64_t>(nulls);
    return Status::OK();
  }

  // A buffer of at least `needed` bytes. One that may be absent reads as empty.
  Result<std::string_view> NextBuffer(uint64_t needed) {
    if (buffers_.count == 0) return Bad("it has too few buffers");
    auto offset = flat_.Read<int64_t>(buffers_.at);
    auto size = flat_.Read<int64_t>(buffers_.at + 8);
    buffers_ = {buffers_.at + kBufferSize, buffers_.count - 1};
    bool inside = offset >= 0 && size >= 0 && offset % 8 == 0 &&
                  static_cast<uint64_t>(offset) <= body_.size() &&
                  static_cast<uint64_t>(size) <= body_.size() - offset;
    if (!inside) return Bad("a buffer is out of bounds");
    if (static_cast<uint64_t>(size) < needed) return Bad("a buffer is too short");
    return body_.substr(offset, size);
  }

 private:
  FlatBuffer flat_;
  std::string_view body_;
  int64_t length_ = 0;
  FlatVector nodes_;
  FlatVector buffers_;
};

const uint8_t* Bytes(std::string_view view) {
  return reinterpret_cast<const uint8_t*>(view.data());
}

Status TakeValidity(BatchMetadata* batch, ChunkColumn* column) {
  uint64_t needed = column->null_count == 0 ? 0 : (column->length + 7) / 8;
  FB_ASSIGN_OR_RETURN(std::string_view bits, batch->NextBuffer(needed));
  if (column->null_count != 0) column->validity = Bytes(bits);
  return Status::OK();
}

int64_t OffsetAt(const ChunkColumn& column, uint64_t i) {
  if (OffsetWidth(column.type.layout) == 4) {
    int32_t value;
    std::memcpy(&value, column.offsets + i * 4, 4);
    return value;
  }
  int64_t value;
  std::memcpy(&value, column.offsets + i * 8, 8);
  return value;
}

// Takes the offset buffer; `last` is where the last value ends.
Status TakeOffsets(BatchMetadata* batch, ChunkColumn* column, uint64_t* last) {
  uint64_t width = OffsetWidth(column->type.layout);
  uint64_t needed = column->length == 0 ? 0 : (column->length + 1) * width;
  FB_ASSIGN_OR_RETURN(std::string_view offsets, batch->NextBuffer(needed));
  column->offsets = offsets.size() < width ? kZeroOffsets : Bytes(offsets);
  int64_t begin = OffsetAt(*column, 0), end = OffsetAt(*column, column->length);
  if (begin < 0 || end < begin) return Bad("a column's offsets make no sense");
  *last = static_cast<uint64_t>(end);
  return Status::OK();
}

Status TakeValues(BatchMetadata* batch, ChunkColumn* column, uint64_t needed) {
  FB_ASSIGN_OR_RETURN(std::string_view values, batch->NextBuffer(needed));
  column->values = Bytes(values);
  column->values_size = values.size();
  return Status::OK();
}

Result<ChunkColumn> TakeColumn(BatchMetadata* batch, const model::Field& field);

// Children of at least `length` values each.
Status TakeChildren(BatchMetadata* batch, const model::Field& field, uint64_t length,
                    ChunkColumn* column) {
  column->children.reserve(field.children.size());
  for (const model::Field& child : field.children) {
    FB_ASSIGN_OR_RETURN(ChunkColumn taken, TakeColumn(batch, child));
    if (taken.length < length) return Bad("a nested column is too short");
    column->children.push_back(std::move(taken));
  }
  return Status::OK();
}

// Rows × width, or something no buffer can have when that overflows.
uint64_t Product(uint64_t rows, uint64_t width) {
  uint64_t product;
  return __builtin_mul_overflow(rows, width, &product) ? UINT64_MAX : product;
}

Result<ChunkColumn> TakeColumn(BatchMetadata* batch, const model::Field& field) {
  ChunkColumn column;
  FB_ASSIGN_OR_RETURN(column.type, LayoutOf(field));
  FB_RETURN_NOT_OK(batch->NextNode(&column));
  if (column.type.layout == Layout::kNull) return column;
  FB_RETURN_NOT_OK(TakeValidity(batch, &column));
  uint64_t rows = column.length, last = 0;
  switch (column.type.layout) {
    case Layout::kNull: break;
    case Layout::kBool:
      FB_RETURN_NOT_OK(TakeValues(batch, &column, (rows + 7) / 8));
      break;
    case Layout::kFixed:
      FB_RETURN_NOT_OK(TakeValues(batch, &column, Product(rows, column.type.width)));
      break;
    case Layout::kBinary32:
    case Layout::kBinary64:
      FB_RETURN_NOT_OK(TakeOffsets(batch, &column, &last));
      FB_RETURN_NOT_OK(TakeValues(batch, &column, last));
      break;
    case Layout::kList32:
    case Layout::kList64:
      FB_RETURN_NOT_OK(TakeOffsets(batch, &column, &last));
      FB_RETURN_NOT_OK(TakeChildren(batch, field, last, &column));
      break;
    case Layout::kFixedList:
      last = Product(rows, column.type.width);
      FB_RETURN_NOT_OK(TakeChildren(batch, field, last, &column));
      break;
    case Layout::kStruct:
      FB_RETURN_NOT_OK(TakeChildren(batch, field, rows, &column));
      break;
  }
  return column;
}

}  // namespace

Result<std::vector<ChunkColumn>> ParseChunk(std::string_view bytes,
                                            std::span<const model::Field* const> fields,
                                            uint64_t row_count) {
  FB_ASSIGN_OR_RETURN(Body body, FindBody(bytes));
  BatchMetadata batch(body);
  if (!batch.ok()) return Bad("its record batch metadata is malformed");
  if (batch.length() != row_count) {
    return Status::Corrupt(fmt::format("The chunk has {} rows where {} were expected.",
                                       batch.length(), row_count));
  }
  std::vector<ChunkColumn> columns;
  columns.reserve(fields.size());
  for (const model::Field* field : fields) {
    FB_ASSIGN_OR_RETURN(ChunkColumn column, TakeColumn(&batch, *field));
    if (column.length != row_count) return Bad("a column has another number of rows");
    columns.push_back(std::move(column));
  }
  if (!batch.ok()) return Bad("its record batch metadata is malformed");
  if (!batch.AllTaken()) return Bad("it has more columns than expected");
  return columns;
}

}  // namespace forebay::reader
