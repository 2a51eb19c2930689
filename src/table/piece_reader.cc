#include "table/piece_reader.h"

#include <arrow/api.h>
#include <fmt/format.h>

#include <algorithm>

#include "table/by_id/labels.h"
#include "table/conform.h"
#include "table/files/decode_error.h"

namespace forebay::table {
namespace {

using BatchPtr = std::shared_ptr<arrow::RecordBatch>;

std::string PlaceOf(const PieceOptions& options) {
  return fmt::format("{}, {} {}", options.access.object.uri, GroupName(options.format),
                     options.piece.first_group);
}

}  // namespace

Result<std::unique_ptr<PieceReader>> PieceReader::Open(PieceOptions options) {
  auto reader = std::unique_ptr<PieceReader>(new PieceReader(std::move(options)));
  FB_RETURN_NOT_OK(reader->Init());
  return reader;
}

Status PieceReader::Init() {
  file_ = options_.file;
  if (file_ == nullptr) {
    auto int96 = options_.by_id ? Int96::kMicroseconds : Int96::kNanoseconds;
    FB_ASSIGN_OR_RETURN(
        file_, OpenTableFile(options_.format, options_.access, options_.footers, int96));
  }
  labels_ = file_->schema();
  if (options_.by_id != nullptr) {
    Status status = InitById();
    if (!status.ok()) return status.WithContext(options_.access.object.uri);
  }
  bool needs_position = false;
  std::vector<int> file_fields;
  for (const auto& field : options_.schema->fields()) {
    int file_field = -1;
    FB_ASSIGN_OR_RETURN(Column column, FindColumn(*field, &file_field));
    needs_position |= column.metadata && by_id::NeedsPosition(*column.metadata);
    columns_.push_back(std::move(column));
    file_fields.push_back(file_field);
    if (file_field >= 0) fields_.push_back(file_field);
  }
  std::ranges::sort(fields_);
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (file_fields[i] < 0) continue;
    auto found = std::ranges::find(fields_, file_fields[i]);
    columns_[i].place = static_cast<int>(found - fields_.begin());
  }
  return needs_position ? FindFirstRow() : Status::OK();
}

Status PieceReader::InitById() {
  FB_ASSIGN_OR_RETURN(context_, by_id::FileContext::Decode(options_.context));
  options_.context = {};
  FB_ASSIGN_OR_RETURN(labels_, options_.by_id->Label(*labels_, options_.format));
  FB_ASSIGN_OR_RETURN(fill_, options_.by_id->FillOf(context_, *options_.schema));
  return Status::OK();
}

Result<PieceReader::Column> PieceReader::FindColumn(const arrow::Field& field,
                                                    int* file_field) const {
  Column column;
  if (options_.partitions != nullptr && options_.partitions->Has(field.name())) {
    FB_ASSIGN_OR_RETURN(column.constant, FolderValue(field));
    return column;
  }
  if (options_.by_id != nullptr) {
    column.metadata = by_id::FindMetadataColumn(field.name());
    column.constant = by_id::ColumnFill::Find(fill_.constants, field.name());
    if (column.constant != nullptr) return column;
    if (column.metadata && !by_id::MayBeInFile(*column.metadata)) return column;
  }
  *file_field = labels_->GetFieldIndex(field.name());
  if (*file_field < 0) {
    column.constant = by_id::ColumnFill::Find(fill_.defaults, field.name());
  }
  return column;
}

Result<std::shared_ptr<arrow::Scalar>> PieceReader::FolderValue(
    const arrow::Field& field) const {
  const std::string& uri = options_.access.object.uri;
  auto text = options_.partitions->Value(field.name(), uri);
  if (!text) return arrow::MakeNullScalar(field.type());
  auto scalar = arrow::Scalar::Parse(field.type(), *text);
  if (scalar.ok()) return *scalar;
  return Status::Invalid(
      fmt::format("{}: the folder gives '{}' for column '{}', which is not a {}", uri,
                  *text, field.name(), field.type()->ToString()));
}

Status PieceReader::FindFirstRow() {
  auto groups = Guard([&] { return file_->Groups(); });
  if (!groups.ok()) {
    return DecodeError(groups.status()).WithContext(options_.access.object.uri);
  }
  for (uint32_t i = 0; i < options_.piece.first_group && i < groups->size(); ++i) {
    first_row_ += (*groups)[i].row_count;
  }
  return Status::OK();
}

GroupRead PieceReader::Read() const {
  return {.first_group = options_.piece.first_group,
          .group_count = options_.piece.group_count,
          .fields = fields_,
          .batch_rows = options_.batch_rows};
}

Result<ReadMemory> PieceReader::Memory() const {
  if (fields_.empty()) return ReadMemory{};
  auto memory = Decoded(Guard([&] { return file_->MemoryOf(Read()); }));
  if (!memory.ok()) return memory.status().WithContext(PlaceOf(options_));
  return memory;
}

Status PieceReader::OpenStream() {
  auto stream = Guard([&] { return file_->Read(Read()); });
  if (!stream.ok()) return Blame(stream.status());
  stream_ = std::move(*stream);
  return Status::OK();
}

Result<BatchPtr> PieceReader::Next() {
  if (options_.access.deadline.passed()) {
    return Status::Deadline(
        fmt::format("time was up while decoding {}", PlaceOf(options_)));
  }
  if (stream_ == nullptr && !fields_.empty()) FB_RETURN_NOT_OK(OpenStream());
  auto batch = Guard([&] { return Decode(); });
  if (!batch.ok()) return Blame(batch.status());
  auto rows = *batch == nullptr ? 0 : static_cast<uint64_t>((*batch)->num_rows());
  if (rows > rows_left() || (*batch == nullptr && rows_left() > 0)) {
    return Status::Corrupt(fmt::format("{}: the footer promises {} rows, the data has {}",
                                       PlaceOf(options_), options_.piece.row_count,
                                       *batch == nullptr ? "fewer" : "more"));
  }
  rows_done_ += rows;
  return *batch;
}

arrow::Result<BatchPtr> PieceReader::Decode() {
  if (fields_.empty()) {
    if (rows_left() == 0) return nullptr;
    auto rows = std::min<int64_t>(static_cast<int64_t>(rows_left()),
                                  std::max<int64_t>(options_.batch_rows, 1));
    return ToSchema(
        arrow::RecordBatch::Make(arrow::schema({}), rows, arrow::ArrayVector()));
  }
  ARROW_ASSIGN_OR_RAISE(BatchPtr batch, stream_->Next());
  if (batch == nullptr) return nullptr;
  if (batch->num_columns() != static_cast<int>(fields_.size())) {
    return arrow::Status::SerializationError("a batch has the wrong number of columns");
  }
  ARROW_RETURN_NOT_OK(batch->ValidateFull());
  return ToSchema(batch);
}

arrow::Result<BatchPtr> PieceReader::ToSchema(const BatchPtr& batch) {
  std::vector<std::shared_ptr<arrow::ArrayData>> columns;
  for (int i = 0; i < options_.schema->num_fields(); ++i) {
    ARROW_ASSIGN_OR_RAISE(auto column, ColumnOf(i, batch->num_rows(), batch));
    columns.push_back(std::move(column));
  }
  return arrow::RecordBatch::Make(options_.schema, batch->num_rows(), std::move(columns));
}

arrow::Result<std::shared_ptr<arrow::ArrayData>> PieceReader::ColumnOf(
    int index, int64_t rows, const BatchPtr& batch) {
  auto* pool = options_.access.memory_pool;
  const auto& type = options_.schema->field(index)->type();
  const Column& column = columns_[index];
  std::shared_ptr<arrow::ArrayData> data;
  if (column.place >= 0) {
    data = batch->column_data(column.place);
    if (options_.by_id != nullptr) {
      const auto& label = labels_->field(fields_[column.place])->type();
      ARROW_ASSIGN_OR_RAISE(data, by_id::Relabel(data, label));
    }
    const auto* fill = options_.by_id == nullptr ? nullptr : &fill_;
    ARROW_ASSIGN_OR_RAISE(data, Conform(data, type, pool, fill));
  }
  if (column.metadata) {
    by_id::MetadataRows place{.first = static_cast<int64_t>(first_row_ + rows_done_),
                              .count = rows,
                              .own = std::move(data)};
    return by_id::MakeMetadataColumn(*column.metadata, context_, place, pool);
  }
  if (data != nullptr) return data;
  std::shared_ptr<arrow::Array> array;
  if (column.constant != nullptr) {
    ARROW_ASSIGN_OR_RAISE(array,
                          arrow::MakeArrayFromScalar(*column.constant, rows, pool));
  } else {
    ARROW_ASSIGN_OR_RAISE(array, arrow::MakeArrayOfNull(type, rows, pool));
  }
  return array->data();
}

// Reads one column of one group, to see whether it is the broken one.
bool PieceReader::Reads(uint32_t group, int field) {
  GroupRead read{.first_group = group,
                 .group_count = 1,
                 .fields = {field},
                 .batch_rows = options_.batch_rows};
  auto status = Guard([&]() -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(auto stream, file_->Read(read));
    while (true) {
      ARROW_ASSIGN_OR_RAISE(BatchPtr batch, stream->Next());
      if (batch == nullptr) return arrow::Status::OK();
      ARROW_RETURN_NOT_OK(batch->ValidateFull());
    }
  });
  return status.ok();
}

Status PieceReader::Blame(const arrow::Status& status) {
  Status ours = DecodeError(status);
  stream_.reset();
  if (ours.code() != StatusCode::kCorrupt && ours.code() != StatusCode::kUnsupported) {
    bool named = ours.message().find(options_.access.object.uri) != std::string::npos;
    return named ? ours : ours.WithContext(PlaceOf(options_));
  }
  for (uint32_t i = 0; i < options_.piece.group_count; ++i) {
    uint32_t group = options_.piece.first_group + i;
    for (int field : fields_) {
      if (options_.access.deadline.passed()) return ours.WithContext(PlaceOf(options_));
      if (Reads(group, field)) continue;
      return ours.WithContext(fmt::format(
          "{}, {} {}, column '{}'", options_.access.object.uri,
          GroupName(options_.format), group, file_->schema()->field(field)->name()));
    }
  }
  return ours.WithContext(PlaceOf(options_));
}

}  // namespace forebay::table
