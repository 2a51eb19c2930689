#include "table/table_file.h"

#include <fmt/format.h>

#include <unordered_set>

#include "table/decode_error.h"

namespace forebay::table {
namespace {

using FilePtr = std::unique_ptr<TableFile>;

arrow::Result<FilePtr> OpenFormat(model::FileFormat format, const ObjectAccess& access,
                                  FooterCache* footers) {
  switch (format) {
    case model::FileFormat::kParquet: return OpenParquet(access, footers);
    case model::FileFormat::kIpcFile:
    case model::FileFormat::kIpcStream: return OpenIpc(access, footers);
    case model::FileFormat::kOrc: return OpenOrc(access, footers);
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

}  // namespace

std::string_view GroupName(model::FileFormat format) {
  switch (format) {
    case model::FileFormat::kParquet: return "row group";
    case model::FileFormat::kIpcFile:
    case model::FileFormat::kIpcStream: return "batch";
    case model::FileFormat::kOrc: return "stripe";
  }
  return "group";
}

Result<FilePtr> OpenTableFile(model::FileFormat format, const ObjectAccess& access,
                              FooterCache* footers) {
  auto file = Guard([&] { return OpenFormat(format, access, footers); });
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
