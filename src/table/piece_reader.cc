#include "table/piece_reader.h"

#include <arrow/api.h>
#include <fmt/format.h>

#include <algorithm>

#include "table/conform.h"
#include "table/decode_error.h"

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
  const std::string& uri = options_.access.object.uri;
  FB_ASSIGN_OR_RETURN(file_,
                      OpenTableFile(options_.format, options_.access, options_.footers));
  auto file_schema = file_->schema();
  constants_.resize(options_.schema->num_fields());
  for (int i = 0; i < options_.schema->num_fields(); ++i) {
    const auto& field = options_.schema->field(i);
    if (options_.partitions->Has(field->name())) {
      auto text = options_.partitions->Value(field->name(), uri);
      auto scalar = text ? arrow::Scalar::Parse(field->type(), *text)
                         : arrow::MakeNullScalar(field->type());
      if (!scalar.ok()) {
        return Status::Invalid(fmt::format(
            "{}: the folder gives '{}' for column '{}', "
            "which is not a {}",
            uri, text.value_or(""), field->name(), field->type()->ToString()));
      }
      constants_[i] = *scalar;
      continue;
    }
    int index = file_schema->GetFieldIndex(field->name());
    if (index >= 0) fields_.push_back(index);
  }
  std::ranges::sort(fields_);
  for (int i = 0; i < options_.schema->num_fields(); ++i) {
    int index = file_schema->GetFieldIndex(options_.schema->field(i)->name());
    auto found = std::ranges::find(fields_, index);
    bool read = constants_[i] == nullptr && found != fields_.end();
    place_.push_back(read ? static_cast<int>(found - fields_.begin()) : -1);
  }
  return fields_.empty() ? Status::OK() : OpenStream();
}

Status PieceReader::OpenStream() {
  GroupRead read{.first_group = options_.piece.first_group,
                 .group_count = options_.piece.group_count,
                 .fields = fields_,
                 .batch_rows = options_.batch_rows};
  auto stream = Guard([&] { return file_->Read(read); });
  if (!stream.ok()) return Blame(stream.status());
  stream_ = std::move(*stream);
  return Status::OK();
}

Result<BatchPtr> PieceReader::Next() {
  if (options_.access.deadline.passed()) {
    return Status::Deadline(
        fmt::format("time was up while decoding {}", PlaceOf(options_)));
  }
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
    int column, int64_t rows, const BatchPtr& batch) {
  auto* pool = options_.access.memory_pool;
  const auto& type = options_.schema->field(column)->type();
  if (place_[column] >= 0) {
    return Conform(batch->column_data(place_[column]), type, pool);
  }
  std::shared_ptr<arrow::Array> array;
  if (constants_[column] != nullptr) {
    ARROW_ASSIGN_OR_RAISE(array,
                          arrow::MakeArrayFromScalar(*constants_[column], rows, pool));
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
