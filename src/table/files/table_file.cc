#include "table/files/table_file.h"

#include <arrow/extension_type.h>
#include <fmt/format.h>
#include <parquet/file_reader.h>

#include <unordered_set>

#include "table/files/claimed_bytes.h"
#include "table/files/decode_error.h"

namespace forebay::table {
namespace {

using FilePtr = std::unique_ptr<TableFile>;

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
