#include "table/files/foreign_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <span>

namespace forebay::table {
namespace {

constexpr std::string_view kCompanionNames[] = {
    "readme",
    "license",
    "licence",
    "copying",
    "notice",
    "changelog",
    "citation",
    "manifest",
    "checksums",
    "checksum",
    "md5sums",
    "md5sum",
    "sha1sums",
    "sha256sums",
    "sha256sum",
    "thumbs.db",
    "desktop.ini",
    "dataset_info.json",
    "dataset_infos.json",
    "citation.cff",
};
// Ends that a name above may have, as in README.md.
constexpr std::string_view kTextEnds[] = {".md", ".txt", ".rst", ".html"};
constexpr std::string_view kCompanionEnds[] = {".md", ".crc", ".md5", ".sha1", ".sha256"};

constexpr std::string_view kPacked[] = {".gz", ".zst", ".bz2", ".xz", ".lz4"};
constexpr std::string_view kCsv[] = {".csv", ".tsv"};
constexpr std::string_view kJson[] = {".json", ".jsonl", ".ndjson"};
constexpr std::string_view kImages[] = {".jpg", ".jpeg", ".png",  ".webp", ".gif",
                                        ".bmp", ".tif",  ".tiff", ".heic"};
constexpr std::string_view kMedia[] = {".mp4", ".mov", ".mkv",  ".webm",
                                       ".wav", ".mp3", ".flac", ".ogg"};
constexpr std::string_view kArchives[] = {".tar", ".tgz", ".zip", ".7z"};
constexpr std::string_view kArrays[] = {".npy", ".npz",  ".pt",         ".pth",
                                        ".h5",  ".hdf5", ".safetensors"};

std::string NameOf(std::string_view uri) {
  std::string name(uri.substr(uri.rfind('/') + 1));
  std::ranges::transform(name, name.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return name;
}

std::string_view EndOf(std::string_view name) {
  size_t dot = name.rfind('.');
  return dot == name.npos ? std::string_view() : name.substr(dot);
}

bool In(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

constexpr std::string_view kAsTheyAre =
    "forebay.files(...) serves trees of files as they are";

std::string Convert(std::string_view what) {
  return fmt::format(
      "is {}, which is not read as a table: write it as Parquet, or read "
      "the file itself: {}",
      what, kAsTheyAre);
}

}  // namespace

bool IsCompanion(std::string_view uri) {
  std::string name = NameOf(uri);
  if (In(kCompanionNames, name) || In(kCompanionEnds, EndOf(name))) return true;
  std::string_view end = EndOf(name);
  return In(kTextEnds, end) &&
         In(kCompanionNames, std::string_view(name).substr(0, name.size() - end.size()));
}

std::string WhyNotATable(std::string_view uri) {
  std::string lower = NameOf(uri);
  std::string_view name = lower;
  if (In(kPacked, EndOf(name))) name.remove_suffix(EndOf(name).size());
  std::string_view end = EndOf(name);
  if (In(kCsv, end)) return Convert("CSV");
  if (In(kJson, end)) return Convert("JSON");
  if (In(kImages, end)) return fmt::format("is an image, not a table: {}", kAsTheyAre);
  if (In(kMedia, end)) return fmt::format("is a recording, not a table: {}", kAsTheyAre);
  if (In(kArchives, end)) {
    return fmt::format("is an archive, not a table: {}, archives included", kAsTheyAre);
  }
  if (In(kArrays, end)) {
    return fmt::format("holds arrays, not a table: {}", kAsTheyAre);
  }
  return {};
}

}  // namespace forebay::table
