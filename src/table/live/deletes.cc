#include "table/live/deletes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/arrow_status.h"
#include "base/size.h"
#include "table/iceberg/deletion_vector.h"
#include "table/live/position_deletes.h"
#include "table/memory_jobs.h"

namespace forebay::table::live {
namespace {

constexpr int64_t kHoleBytes = 64 * kKiB;
constexpr int64_t kVectorBytesMax = 1 * kGiB;
// Besides the path; and batches are twice as long as others.
constexpr uint64_t kPositionRowBytes = 128;
constexpr uint64_t kUsualCompression = 4;

// Deletion vectors that lie in one Puffin file.
struct VectorFile {
  std::string path;
  std::vector<std::pair<const iceberg::DataFile*, size_t>> vectors;  // and data file
};

using Ranges = std::vector<arrow::io::ReadRange>;

// Where the vectors are, neighbours joined.
Result<Ranges> RangesOf(const VectorFile& file, int64_t size) {
  Ranges ranges;
  for (const auto& [vector, data_file] : file.vectors) {
    int64_t offset = vector->content_offset, length = vector->content_size;
    if (offset < 0 || length <= 0 || length > kVectorBytesMax || offset > size ||
        length > size - offset) {
      return Status::Corrupt(fmt::format(
          "{}: the deletion vector at {} with {} bytes is not inside the file ({} bytes)",
          file.path, offset, length, size));
    }
    ranges.push_back({offset, length});
  }
  std::ranges::sort(ranges, {}, &arrow::io::ReadRange::offset);
  Ranges joined;
  for (const auto& range : ranges) {
    if (!joined.empty() &&
        range.offset <= joined.back().offset + joined.back().length + kHoleBytes) {
      int64_t end = std::max(joined.back().offset + joined.back().length,
                             range.offset + range.length);
      joined.back().length = end - joined.back().offset;
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

Status ReadVectorFile(const VectorFile& file, const DeleteAccess& access,
                      const DataFiles& files, DeletedRows* rows) {
  FB_ASSIGN_OR_RETURN(ObjectAccess object, access.Open(file.path));
  FB_ASSIGN_OR_RETURN(Ranges ranges, RangesOf(file, object.object.identity.size));
  ObjectFile bytes(object);
  FB_RETURN_NOT_OK(bytes.Prefetch(ranges));
  for (const auto& [vector, data_file] : file.vectors) {
    FB_ASSIGN_OR_RETURN(
        auto blob, FromArrow(bytes.ReadAt(vector->content_offset, vector->content_size)));
    auto positions = iceberg::DecodeDeletionVector(
        std::string_view(*blob), static_cast<uint64_t>(files.at(data_file).record_count));
    if (positions.ok() &&
        positions->size() != static_cast<uint64_t>(vector->record_count)) {
      positions = Status::Corrupt(
          fmt::format("it has {} positions, but the table counts {} in it",
                      positions->size(), vector->record_count));
    }
    if (!positions.ok()) {
      return positions.status().WithContext(
          fmt::format("{}, deletion vector at {}", file.path, vector->content_offset));
    }
    FB_RETURN_NOT_OK(rows->Mark(data_file, *positions));
  }
  return Status::OK();
}

struct EqualityFile {
  const iceberg::DataFile* file;
  EqualityDeletes* group;
};

Status ReadEqualityFile(const EqualityFile& from, const DeleteAccess& access,
                        const model::Schema& schema) {
  model::Schema columns{.fields = from.group->columns, .metadata = schema.metadata};
  FB_ASSIGN_OR_RETURN(auto wanted, WantedColumns::Make(std::move(columns)));
  FB_ASSIGN_OR_RETURN(ObjectAccess object, access.Open(from.file->path));
  FB_ASSIGN_OR_RETURN(auto format, FormatOf(*from.file));
  by_id::FileContext context;
  context.path = from.file->path;
  FB_ASSIGN_OR_RETURN(auto scan, FileScan::Open({.access = object,
                                                 .footers = access.footers,
                                                 .format = format,
                                                 .context = context.Encode()},
                                                &wanted));
  if (scan.row_count() != static_cast<uint64_t>(from.file->record_count)) {
    return Status::Corrupt(fmt::format("{} holds {} rows, but the table counts {} in it",
                                       from.file->path, scan.row_count(),
                                       from.file->record_count));
  }
  return scan.ReadAll([&](const arrow::RecordBatch& batch, uint64_t) -> Status {
    FB_ASSIGN_OR_RETURN(auto keys, KeyColumns::Make(batch, from.group->key_paths));
    std::lock_guard lock(from.group->mutex);
    from.group->index.Add(keys, from.file->sequence_number);
    return Status::OK();
  });
}

// What its bytes take.
uint64_t VectorBytes(const VectorFile& file) {
  uint64_t bytes = 0;
  for (const auto& [vector, data_file] : file.vectors) {
    bytes +=
        static_cast<uint64_t>(std::max<int64_t>(vector->content_size, 0) + kHoleBytes);
  }
  return bytes;
}

// What reading a delete file takes whose rows have about so many bytes.
uint64_t RowsBytes(const iceberg::DataFile& file, uint64_t row_bytes) {
  auto stored = static_cast<uint64_t>(std::max<int64_t>(file.file_size, 0));
  auto rows = static_cast<uint64_t>(std::max<int64_t>(file.record_count, 0));
  return ScanMemoryBytes(
      {.stored_bytes = stored,
       .decoded_bytes = std::max(kUsualCompression * stored, rows * row_bytes),
       .row_count = rows,
       .column_count = 2});
}

}  // namespace

Status DeleteAccess::ReadAll(size_t count, const std::function<uint64_t(size_t)>& bytes,
                             const std::function<Status(size_t)>& read) const {
  return RunMemoryJobs({.count = count,
                        .bytes = bytes,
                        .run = read,
                        .pool = pool,
                        .budget = budget,
                        .deadline = deadline});
}

Result<ObjectAccess> DeleteAccess::Open(const std::string& path) const {
  FB_ASSIGN_OR_RETURN(std::string uri, resolve(path));
  FB_ASSIGN_OR_RETURN(model::Object object, source->Stat(uri, deadline));
  return ObjectAccess{.source = source,
                      .object = std::move(object),
                      .memory_pool = memory_pool,
                      .pool = pool,
                      .deadline = deadline};
}

Status DeletedRows::Mark(size_t data_file, const std::vector<uint64_t>& positions) {
  if (positions.empty()) return Status::OK();
  const iceberg::DataFile& file = files_->at(data_file);
  auto row_count = static_cast<uint64_t>(file.record_count);
  std::lock_guard lock(locks_[data_file % kLocks]);
  model::LiveRows& live = live_[data_file];
  if (live.words.empty()) {
    FB_RETURN_NOT_OK(marks_->Add(file.path, row_count));
    live.row_count = row_count;
    live.Materialize();
  }
  for (uint64_t position : positions) {
    if (position >= row_count) {
      return Status::Corrupt(fmt::format("row {} of {} is deleted, which has {} rows",
                                         static_cast<int64_t>(position), file.path,
                                         row_count));
    }
    live.Kill(position);
  }
  return Status::OK();
}

Result<std::unique_ptr<Deletes>> Deletes::Make(DeleteAccess access,
                                               const KnownFields& fields,
                                               const iceberg::TableMetadata& metadata,
                                               const iceberg::Scan& scan) {
  if (access.memory_pool == nullptr) access.memory_pool = arrow::default_memory_pool();
  auto deletes = std::unique_ptr<Deletes>(new Deletes(std::move(access), scan));
  deletes->has_vector_.resize(scan.data.size());
  FB_RETURN_NOT_OK(deletes->ReadDeletionVectors(scan.deletion_vectors));
  FB_RETURN_NOT_OK(deletes->ReadPositionDeletes(scan.position_deletes));
  FB_RETURN_NOT_OK(deletes->ReadEqualityDeletes(scan.equality_deletes, fields, metadata));
  return deletes;
}

Status Deletes::ReadDeletionVectors(const std::vector<iceberg::DataFile>& vectors) {
  std::map<std::string, VectorFile> puffins;
  std::unordered_map<std::string, const iceberg::DataFile*> seen;
  for (const iceberg::DataFile& vector : vectors) {
    if (!seen.emplace(vector.referenced_data_file, &vector).second) {
      return Status::Corrupt(fmt::format("{} has two deletion vectors, one in {}",
                                         vector.referenced_data_file, vector.path));
    }
    int64_t data_file = files_.Find(vector.referenced_data_file);
    if (data_file < 0) continue;
    const iceberg::DataFile& data = files_.at(data_file);
    if (data.sequence_number > vector.sequence_number) continue;
    has_vector_[data_file] = true;
    VectorFile& puffin = puffins[vector.path];
    puffin.path = vector.path;
    puffin.vectors.emplace_back(&vector, data_file);
  }
  std::vector<const VectorFile*> list;
  for (const auto& [path, file] : puffins) list.push_back(&file);
  return access_.ReadAll(
      list.size(), [&](size_t i) { return VectorBytes(*list[i]); },
      [&](size_t i) { return ReadVectorFile(*list[i], access_, files_, &rows_); });
}

Status Deletes::ReadPositionDeletes(const std::vector<iceberg::DataFile>& files) {
  std::vector<const iceberg::DataFile*> list;
  for (const iceberg::DataFile& file : files) {
    if (MayTouch(file, files_)) list.push_back(&file);
  }
  // A path and a number.
  auto bytes = [&](size_t i) {
    return RowsBytes(*list[i], list[i]->path.size() + kPositionRowBytes);
  };
  return access_.ReadAll(list.size(), bytes, [&](size_t i) {
    return ReadPositions(*list[i], access_, has_vector_, files_, &rows_);
  });
}

Status Deletes::ReadEqualityDeletes(const std::vector<iceberg::DataFile>& files,
                                    const KnownFields& fields,
                                    const iceberg::TableMetadata& metadata) {
  std::vector<EqualityFile> list;
  std::map<std::pair<std::string, std::vector<int32_t>>, EqualityDeletes*> groups;
  for (const iceberg::DataFile& file : files) {
    const iceberg::PartitionSpec* spec = metadata.FindSpec(file.spec_id);
    if (spec == nullptr || file.equality_ids.empty()) {
      return Status::Corrupt(fmt::format(
          "{}: equality deletes without columns or of spec {}, which the table lacks",
          file.path, file.spec_id));
    }
    bool global = IsUnpartitioned(*spec);
    std::string scope = global ? std::string() : PartitionKey(file);
    bool needed = global ? files_.AnyOlder(file.sequence_number)
                         : files_.AnyOlder(scope, file.sequence_number);
    if (!needed) continue;
    std::vector<int32_t> ids = file.equality_ids;
    std::ranges::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    EqualityDeletes*& group = groups[{scope, ids}];
    if (group == nullptr) {
      auto made = std::make_unique<EqualityDeletes>();
      for (int32_t id : ids) {
        ChunkPath path;
        auto column = fields.FindAlone(id, &path);
        if (!column.ok()) return column.status().WithContext(file.path);
        AddColumn(*column, &made->columns);
        made->key_paths.push_back(std::move(path));
      }
      group = keys_[scope].emplace_back(std::move(made)).get();
    }
    list.push_back({&file, group});
  }
  FB_RETURN_NOT_OK(access_.ReadAll(
      list.size(), [&](size_t i) { return RowsBytes(*list[i].file, 0); },
      [&](size_t i) { return ReadEqualityFile(list[i], access_, fields.schema()); }));
  for (auto& [scope, all] : keys_) {
    for (auto& group : all) group->index.Seal();
  }
  return Status::OK();
}

model::LiveRows Deletes::LiveByPosition(size_t data_file) const {
  if (rows_.Any(data_file)) return rows_.At(data_file);
  return {.row_count = static_cast<uint64_t>(files_.at(data_file).record_count)};
}

std::vector<const EqualityDeletes*> Deletes::EqualityFor(size_t data_file) const {
  std::vector<const EqualityDeletes*> out;
  if (keys_.empty()) return out;
  for (const std::string& scope : {std::string(), files_.partition_key(data_file)}) {
    auto found = keys_.find(scope);
    if (found == keys_.end()) continue;
    for (const auto& group : found->second) {
      if (group->index.Applies(files_.at(data_file).sequence_number)) {
        out.push_back(group.get());
      }
    }
  }
  return out;
}

}  // namespace forebay::table::live
