#include "table/files/table_file.h"

#include <arrow/extension_type.h>
#include <fmt/format.h>
#include <parquet/file_reader.h>

#include <algorithm>
#include <unordered_set>

#include "base/size.h"
#include "table/files/claimed_bytes.h"
#include "table/files/decode_error.h"

namespace forebay::table {
namespace {

using FilePtr = std::unique_ptr<TableFile>;

// Small reads: headers, indices.
constexpr uint64_t kReadBytes = 256 * kKiB;
// The guess at where a footer begins, and a footer twice as large.
constexpr uint64_t kFooterOpenBytes = 192 * kKiB;
// Avro files are read through in windows, of which there are two while one follows the
// other. Files that fit into a window are kept, so they get what decoding takes, too.
constexpr uint64_t kAvroWindowBytes = 8 * kMiB;
constexpr uint64_t kAvroDecodedTimes = 16;

arrow::Result<FilePtr> OpenFormat(model::FileFormat format, const ObjectAccess& access,
                                  FooterCache* footers, Int96 int96) {
  switch (format) {
    case model::FileFormat::kParquet: return OpenParquet(access, footers, int96);
    case model::FileFormat::kIpcFile:
    case model::FileFormat::kIpcStream: return OpenIpc(access, footers);
    case model::FileFormat::kOrc: return OpenOrc(access, footers);
    case model::FileFormat::kAvro: return OpenAvro(access, footers);
  }
  return arrow::Status::NotImplemented("unknown file format");
}

Status CheckNames(const arrow::Schema& schema) {
  std::unordered_set<std::string_view> names;
  for (const auto& field : schema.fields()) {
    if (names.insert(field->name()).second) continue;
    return Status::Invalid(
        fmt::format("column '{}' is there twice; give every column a name of its own",
                    field->name()));
  }
  return Status::OK();
}

std::optional<uint64_t> StructBits(const arrow::DataType& type) {
  uint64_t bits = 1;
  for (const auto& field : type.fields()) {
    auto child = FixedBits(*field->type());
    if (!child) return std::nullopt;
    bits += *child;
  }
  return bits;
}

}  // namespace

std::optional<uint64_t> FixedBits(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::NA: return 0;
    case arrow::Type::STRUCT: return StructBits(type);
    case arrow::Type::FIXED_SIZE_LIST: {
      const auto& list = static_cast<const arrow::FixedSizeListType&>(type);
      auto child = FixedBits(*list.value_type());
      if (!child) return std::nullopt;
      return 1 + ClaimedProduct(*child, static_cast<uint64_t>(list.list_size()));
    }
    case arrow::Type::DICTIONARY:
      return FixedBits(*static_cast<const arrow::DictionaryType&>(type).value_type());
    case arrow::Type::RUN_END_ENCODED:
      return FixedBits(*static_cast<const arrow::RunEndEncodedType&>(type).value_type());
    case arrow::Type::EXTENSION:
      return FixedBits(*static_cast<const arrow::ExtensionType&>(type).storage_type());
    default: break;
  }
  if (!arrow::is_fixed_width(type.id())) return std::nullopt;
  return 1 + static_cast<uint64_t>(type.bit_width());
}

arrow::Result<std::unique_ptr<parquet::ParquetFileReader>> TableFile::Parquet() {
  return nullptr;
}

uint64_t ShareOf(uint64_t bytes, uint64_t rows, uint64_t row_count) {
  if (rows >= row_count) return bytes;
  return static_cast<uint64_t>(static_cast<double>(bytes) * static_cast<double>(rows) /
                               static_cast<double>(row_count)) +
         1;
}

arrow::Result<ReadMemory> TableFile::MemoryOf(const GroupRead& read) {
  ARROW_ASSIGN_OR_RAISE(auto groups, Groups());
  return MemoryOfGroups(groups, read);
}

// Their bytes are there as they are stored, which are at most as many as the decoded
// ones, and as rows.
arrow::Result<ReadMemory> TableFile::MemoryOfGroups(
    const std::vector<GroupLayout>& groups, const GroupRead& read) {
  if (read.first_group > groups.size() ||
      read.group_count > groups.size() - read.first_group) {
    return arrow::Status::SerializationError("the file has fewer groups than expected");
  }
  uint64_t largest = 0, all = 0, row_count = 0;
  for (uint32_t i = 0; i < read.group_count; ++i) {
    const GroupLayout& group = groups[read.first_group + i];
    uint64_t bytes = 0;
    for (int field : read.fields) bytes += group.column_bytes.at(field);
    largest = std::max(largest, bytes);
    all += bytes;
    row_count += group.row_count;
  }
  auto wanted = static_cast<uint64_t>(std::max<int64_t>(read.batch_rows, 1));
  uint64_t batch = std::max(largest, ShareOf(all, wanted, row_count));
  return ReadMemory{.held_bytes = largest + kReadBytes,
                    .batch_bytes = kBufferGrowth * batch};
}

uint64_t OpenMemoryBytes(model::FileFormat format, int64_t object_bytes) {
  auto size = static_cast<uint64_t>(std::max<int64_t>(object_bytes, 0));
  if (format != model::FileFormat::kAvro) return std::min(size, kFooterOpenBytes);
  return size <= kAvroWindowBytes ? kAvroDecodedTimes * size : 2 * kAvroWindowBytes;
}

std::string_view GroupName(model::FileFormat format) {
  switch (format) {
    case model::FileFormat::kParquet: return "row group";
    case model::FileFormat::kIpcFile:
    case model::FileFormat::kIpcStream: return "batch";
    case model::FileFormat::kOrc: return "stripe";
    case model::FileFormat::kAvro: return "group of blocks";
  }
  return "group";
}

Result<FilePtr> OpenTableFile(model::FileFormat format, const ObjectAccess& access,
                              FooterCache* footers, Int96 int96) {
  auto file = Guard([&] { return OpenFormat(format, access, footers, int96); });
  if (!file.ok()) {
    // Faults of the source name the file themselves.
    Status status = DecodeError(file.status());
    bool named = status.message().find(access.object.uri) != std::string::npos;
    return named ? status : status.WithContext(access.object.uri + ", footer");
  }
  Status names = CheckNames(*(*file)->schema());
  if (!names.ok()) return names.WithContext(access.object.uri);
  return std::move(*file);
}

}  // namespace forebay::table
