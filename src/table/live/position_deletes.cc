#include "table/live/position_deletes.h"

#include <arrow/api.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "table/by_id/labels.h"
#include "table/conform.h"
#include "table/files/decode_error.h"

namespace forebay::table::live {
namespace {

constexpr int32_t kPathId = 2147483546;
constexpr int32_t kPositionId = 2147483545;
constexpr int64_t kBatchRows = 128 * 1024;

const std::string* BoundOf(const iceberg::ById<std::string>& bounds, int32_t id) {
  for (const auto& [field, bound] : bounds) {
    if (field == id) return &bound;
  }
  return nullptr;
}

// The data file that all rows are about, where the manifest tells. Partitions don't
// matter then: a path is in one.
std::optional<std::string> OnlyFile(const iceberg::DataFile& deletes) {
  if (!deletes.referenced_data_file.empty()) return deletes.referenced_data_file;
  const std::string* lower = BoundOf(deletes.lower_bounds, kPathId);
  const std::string* upper = BoundOf(deletes.upper_bounds, kPathId);
  if (lower == nullptr || upper == nullptr || *lower != *upper) return std::nullopt;
  return *lower;
}

// Sorts the rows of a delete file by data file.
class Positions {
 public:
  Positions(const iceberg::DataFile& deletes, const std::vector<bool>& has_vector,
            const DataFiles& files)
      : deletes_(deletes),
        only_(OnlyFile(deletes)),
        partition_key_(PartitionKey(deletes)),
        has_vector_(has_vector),
        files_(files) {}

  Status Add(const arrow::Array& paths, const arrow::Int64Array& positions) {
    if (paths.null_count() > 0 || positions.null_count() > 0) {
      return Status::Corrupt("a position delete file names no file or no row");
    }
    rows_ += static_cast<uint64_t>(positions.length());
    if (paths.type_id() == arrow::Type::DICTIONARY) {
      return AddCoded(static_cast<const arrow::DictionaryArray&>(paths), positions);
    }
    return AddPlain(static_cast<const arrow::StringArray&>(paths), positions);
  }

  Status Finish(DeletedRows* rows) const {
    for (const auto& [file, positions] : found_) {
      FB_RETURN_NOT_OK(rows->Mark(file, positions));
    }
    return Status::OK();
  }
  uint64_t row_count() const { return rows_; }

 private:
  using Found = std::unordered_map<size_t, std::vector<uint64_t>>;

  // Where to put a path's positions; nullptr: the delete is not for that file.
  std::vector<uint64_t>* TargetOf(std::string_view path) {
    int64_t file = files_.Find(std::string(path));
    if (file < 0 || has_vector_[file]) return nullptr;
    const iceberg::DataFile& data = files_.at(file);
    if (data.sequence_number > deletes_.sequence_number) return nullptr;
    if (only_ ? *only_ != path : files_.partition_key(file) != partition_key_) {
      return nullptr;
    }
    return &found_[file];
  }

  Status AddCoded(const arrow::DictionaryArray& paths,
                  const arrow::Int64Array& positions) {
    auto names = std::dynamic_pointer_cast<arrow::StringArray>(paths.dictionary());
    if (names == nullptr) return Status::Corrupt("paths in deletes are not text");
    std::vector<std::vector<uint64_t>*> targets;
    for (int64_t i = 0; i < names->length(); ++i) {
      targets.push_back(TargetOf(names->GetView(i)));
    }
    for (int64_t i = 0; i < positions.length(); ++i) {
      auto* target = targets[paths.GetValueIndex(i)];
      if (target != nullptr) target->push_back(static_cast<uint64_t>(positions.Value(i)));
    }
    return Status::OK();
  }

  Status AddPlain(const arrow::StringArray& paths, const arrow::Int64Array& positions) {
    for (int64_t i = 0; i < positions.length(); ++i) {
      // Rows are sorted by path.
      if (i == 0 || paths.GetView(i) != paths.GetView(i - 1)) {
        target_ = TargetOf(paths.GetView(i));
      }
      if (target_ != nullptr) {
        target_->push_back(static_cast<uint64_t>(positions.Value(i)));
      }
    }
    return Status::OK();
  }

  const iceberg::DataFile& deletes_;
  const std::optional<std::string> only_;
  const std::string partition_key_;
  const std::vector<bool>& has_vector_;
  const DataFiles& files_;
  Found found_;
  std::vector<uint64_t>* target_ = nullptr;
  uint64_t rows_ = 0;
};

struct DeleteColumns {
  int path = -1;
  int position = -1;
};

// By ids, or by their fixed names in files without ids.
Result<DeleteColumns> FindColumns(const arrow::Schema& schema) {
  DeleteColumns columns;
  if (by_id::HasIds(schema)) {
    FB_ASSIGN_OR_RETURN(auto labels, by_id::LabelByIds(schema));
    columns.path = labels->GetFieldIndex(fmt::format("id{}", kPathId));
    columns.position = labels->GetFieldIndex(fmt::format("id{}", kPositionId));
  } else {
    columns.path = schema.GetFieldIndex("file_path");
    columns.position = schema.GetFieldIndex("pos");
  }
  if (columns.path < 0 || columns.position < 0) {
    return Status::Corrupt("a position delete file lacks file_path or pos");
  }
  return columns;
}

arrow::Status AddBatch(const arrow::RecordBatch& batch, const DeleteColumns& columns,
                       arrow::MemoryPool* pool, Positions* positions) {
  bool path_first = columns.path < columns.position;
  ARROW_RETURN_NOT_OK(batch.ValidateFull());
  auto paths = batch.column_data(path_first ? 0 : 1);
  bool coded =
      paths->type->id() == arrow::Type::DICTIONARY &&
      static_cast<const arrow::DictionaryType&>(*paths->type).value_type()->id() ==
          arrow::Type::STRING;
  if (!coded) {
    ARROW_ASSIGN_OR_RAISE(paths, Conform(paths, arrow::utf8(), pool));
  }
  ARROW_ASSIGN_OR_RAISE(
      auto rows, Conform(batch.column_data(path_first ? 1 : 0), arrow::int64(), pool));
  return ToArrow(positions->Add(*arrow::MakeArray(paths), arrow::Int64Array(rows)));
}

Status ReadFile(const iceberg::DataFile& deletes, const DeleteAccess& access,
                Positions* positions) {
  FB_ASSIGN_OR_RETURN(ObjectAccess object, access.Open(deletes.path));
  FB_ASSIGN_OR_RETURN(auto format, FormatOf(deletes));
  FB_ASSIGN_OR_RETURN(auto file, OpenTableFile(format, object, access.footers));
  FB_ASSIGN_OR_RETURN(DeleteColumns columns, FindColumns(*file->schema()));
  return Decoded(Guard([&]() -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(auto groups, file->Groups());
    std::vector<int> fields = {columns.path, columns.position};
    std::ranges::sort(fields);
    ARROW_ASSIGN_OR_RAISE(auto stream,
                          file->Read({.first_group = 0,
                                      .group_count = static_cast<uint32_t>(groups.size()),
                                      .fields = fields,
                                      .batch_rows = kBatchRows,
                                      .dictionary = columns.path}));
    while (true) {
      ARROW_ASSIGN_OR_RAISE(auto batch, stream->Next());
      if (batch == nullptr) return arrow::Status::OK();
      if (batch->num_columns() != 2) {
        return arrow::Status::SerializationError("it has the wrong number of columns");
      }
      ARROW_RETURN_NOT_OK(AddBatch(*batch, columns, object.memory_pool, positions));
    }
  }));
}

}  // namespace

bool MayTouch(const iceberg::DataFile& deletes, const DataFiles& files) {
  if (auto only = OnlyFile(deletes)) return files.Find(*only) >= 0;
  const std::string* lower = BoundOf(deletes.lower_bounds, kPathId);
  const std::string* upper = BoundOf(deletes.upper_bounds, kPathId);
  if (lower != nullptr && upper != nullptr && !files.AnyBetween(*lower, *upper)) {
    return false;
  }
  if (deletes.sequence_number == INT64_MAX) return true;
  return files.AnyOlder(PartitionKey(deletes), deletes.sequence_number + 1);
}

Status ReadPositions(const iceberg::DataFile& deletes, const DeleteAccess& access,
                     const std::vector<bool>& has_vector, const DataFiles& files,
                     DeletedRows* rows) {
  Positions positions(deletes, has_vector, files);
  Status status = ReadFile(deletes, access, &positions);
  if (status.ok() &&
      positions.row_count() != static_cast<uint64_t>(deletes.record_count)) {
    status =
        Status::Corrupt(fmt::format("it holds {} rows, but the table counts {} in it",
                                    positions.row_count(), deletes.record_count));
  }
  if (status.ok()) status = positions.Finish(rows);
  if (status.ok()) return status;
  bool named = status.message().find(deletes.path) != std::string::npos;
  return named ? status : status.WithContext(deletes.path);
}

}  // namespace forebay::table::live
