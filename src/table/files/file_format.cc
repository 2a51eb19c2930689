#include "table/files/file_format.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

namespace forebay::table {
namespace {

using model::FileFormat;

constexpr std::array<std::pair<std::string_view, FileFormat>, 9> kExtensions = {
    {{"parquet", FileFormat::kParquet},
     {"pq", FileFormat::kParquet},
     {"parq", FileFormat::kParquet},
     {"arrow", FileFormat::kIpcFile},
     {"feather", FileFormat::kIpcFile},
     {"ipc", FileFormat::kIpcFile},
     {"arrows", FileFormat::kIpcStream},
     {"orc", FileFormat::kOrc},
     {"avro", FileFormat::kAvro}}};

constexpr std::string_view kAvroMarker = "Obj\x01";
constexpr std::string_view kStreamMarker = "\xFF\xFF\xFF\xFF";

}  // namespace

std::optional<FileFormat> FormatByName(std::string_view uri) {
  std::string_view name = uri.substr(uri.rfind('/') + 1);
  size_t dot = name.rfind('.');
  if (dot == name.npos) return std::nullopt;
  std::string extension(name.substr(dot + 1));
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return std::tolower(c); });
  for (const auto& [text, format] : kExtensions) {
    if (text == extension) return format;
  }
  return std::nullopt;
}

std::optional<FileFormat> FormatByMagic(std::string_view first_bytes) {
  if (first_bytes.starts_with("PAR1")) return FileFormat::kParquet;
  if (first_bytes.starts_with("PARE")) return FileFormat::kParquet;
  if (first_bytes.starts_with("ARROW1")) return FileFormat::kIpcFile;
  if (first_bytes.starts_with("ORC")) return FileFormat::kOrc;
  if (first_bytes.starts_with(kAvroMarker)) return FileFormat::kAvro;
  if (first_bytes.starts_with(kStreamMarker)) return FileFormat::kIpcStream;
  return std::nullopt;
}

std::string_view FormatName(FileFormat format) {
  switch (format) {
    case FileFormat::kParquet: return "Parquet";
    case FileFormat::kIpcFile:
    case FileFormat::kIpcStream: return "Arrow IPC";
    case FileFormat::kOrc: return "ORC";
    case FileFormat::kAvro: return "Avro";
  }
  return "unknown";
}

}  // namespace forebay::table
