#include "table/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/bytes.h"
#include "base/log.h"
#include "base/uri.h"
#include "table/files/file_format.h"
#include "table/files/foreign_file.h"
#include "table/glob.h"
#include "table/hive.h"

namespace forebay::table {
namespace {

constexpr std::string_view kReadable =
    "Parquet, Arrow IPC (Feather), ORC and Avro files are read";

bool IsHidden(std::string_view relative) {
  while (true) {
    if (relative.starts_with('_') || relative.starts_with('.')) return true;
    size_t slash = relative.find('/');
    if (slash == relative.npos) return false;
    relative.remove_prefix(slash + 1);
  }
}

std::string WithSlash(std::string uri) {
  if (!uri.ends_with('/')) uri += '/';
  return uri;
}

Result<std::vector<model::Object>> ListBelow(source::Source& source,
                                             const std::string& root, Deadline deadline) {
  FB_ASSIGN_OR_RETURN(auto objects, source.List(root, deadline));
  // Object stores mark folders with empty objects whose names end in '/'.
  std::erase_if(objects, [](const model::Object& o) { return o.uri.ends_with('/'); });
  return objects;
}

Status NoDataFiles(const Listing& listing) {
  return Status::NotFound(fmt::format(
      "there are no data files in {} ({} passed over); {}, while names that start with "
      "'_' or '.', READMEs, licenses and checksums are passed over",
      RedactUri(listing.uri), listing.passed_over_count, kReadable));
}

// Files that the log of such a table has deleted are still there.
Status CheckNoOtherTable(const Listing& listing) {
  constexpr std::pair<std::string_view, std::string_view> kLogs[] = {
      {"_delta_log/", "Delta Lake"}, {".hoodie/", "Hudi"}};
  for (const model::Object& object : listing.objects) {
    std::string_view uri = object.uri;
    for (const auto& [folder, name] : kLogs) {
      bool in_log = uri.starts_with(listing.root) &&
                    uri.substr(listing.root.size()).starts_with(folder);
      if (!in_log) continue;
      return Status::Unsupported(fmt::format(
          "{} is a {} table, whose log says which of its files are live, and Forebay "
          "does not read that log: name the files that you mean with a glob such as "
          "*.parquet, or write the table as Iceberg",
          RedactUri(listing.uri), name));
    }
  }
  return Status::OK();
}

Status ListGlob(source::Source& source, Listing& listing, Deadline deadline) {
  listing.root = std::string(GlobBase(listing.uri));
  std::string_view pattern = std::string_view(listing.uri).substr(listing.root.size());
  FB_ASSIGN_OR_RETURN(listing.objects, ListBelow(source, listing.root, deadline));
  std::erase_if(listing.objects, [&](const model::Object& object) {
    std::string_view uri = object.uri;
    return !uri.starts_with(listing.root) ||
           !MatchesGlob(pattern, uri.substr(listing.root.size()));
  });
  if (!listing.objects.empty()) return Status::OK();
  return Status::NotFound(
      fmt::format("no file matches {}; quote the pattern so that the shell leaves it "
                  "alone, and use ** "
                  "to cross folders",
                  listing.uri));
}

Status ListFolder(source::Source& source, Listing& listing, Deadline deadline) {
  listing.root = WithSlash(listing.uri);
  FB_ASSIGN_OR_RETURN(listing.objects, ListBelow(source, listing.root, deadline));
  FB_RETURN_NOT_OK(CheckNoOtherTable(listing));
  listing.passed_over_count =
      std::erase_if(listing.objects, [&](const model::Object& object) {
        std::string_view uri = object.uri;
        bool below = uri.starts_with(listing.root);
        return below && (IsHidden(uri.substr(listing.root.size())) || IsCompanion(uri));
      });
  if (listing.objects.empty()) return NoDataFiles(listing);
  if (listing.passed_over_count > 0) {
    spdlog::info("{} files of {} hold no rows and were passed over",
                 listing.passed_over_count, RedactUri(listing.uri));
  }
  return Status::OK();
}

Status ListObjects(source::Source& source, Listing& listing, Deadline deadline) {
  if (!listing.uri.ends_with('/')) {
    auto object = source.Stat(listing.uri, deadline);
    if (object.ok()) {
      listing.objects.push_back(*std::move(object));
      listing.root = listing.objects[0].uri;
      return Status::OK();
    }
    if (object.status().code() != StatusCode::kNotFound) return object.status();
  }
  if (IsGlob(listing.uri)) return ListGlob(source, listing, deadline);
  return ListFolder(source, listing, deadline);
}

Result<model::FileFormat> FormatOf(source::Source& source, const model::Object& object,
                                   Deadline deadline) {
  if (auto format = FormatByName(object.uri)) return *format;
  constexpr std::string_view kBeside =
      "if it lies beside the data, name that with a glob such as *.parquet";
  if (std::string why = WhyNotATable(object.uri); !why.empty()) {
    return Status::Invalid(fmt::format("{} {}; {}", RedactUri(object.uri), why, kBeside));
  }
  std::array<std::byte, kMagicBytes> bytes{};
  size_t size = std::min<size_t>(kMagicBytes, static_cast<size_t>(object.identity.size));
  if (size > 0) {
    FB_RETURN_NOT_OK(source.Read(object, 0, std::span(bytes.data(), size), deadline));
  }
  auto format = FormatByMagic({reinterpret_cast<const char*>(bytes.data()), size});
  if (format) return *format;
  return Status::Invalid(fmt::format("{} is not a data file: {}; {}",
                                     RedactUri(object.uri), kReadable, kBeside));
}

Status FindFormat(source::Source& source, Listing& listing, Deadline deadline) {
  for (const model::Object& object : listing.objects) {
    FB_ASSIGN_OR_RETURN(auto format, FormatOf(source, object, deadline));
    if (&object == &listing.objects[0]) listing.format = format;
    if (FormatName(format) == FormatName(listing.format)) continue;
    return Status::Invalid(fmt::format(
        "{} mixes formats: {} is {} and {} is {}; choose one kind with a glob such as "
        "*.parquet",
        listing.uri, listing.objects[0].uri, FormatName(listing.format), object.uri,
        FormatName(format)));
  }
  return Status::OK();
}

Hash128 VersionOf(const Listing& listing) {
  Encoder out;
  out.PutString("table version 1");
  out.PutString(listing.uri);
  out.PutString(listing.root);
  out.PutString(listing.origin);
  out.Put(static_cast<uint32_t>(listing.format));
  for (const model::Object& object : listing.objects) {
    Hash128 content = object.ContentHash(listing.origin);
    out.Put(content.high);
    out.Put(content.low);
  }
  for (const PartitionColumn& column : listing.partitions) {
    out.PutString(column.name);
    out.PutString(column.format);
    for (const auto& value : column.values) {
      out.Put<uint8_t>(value.has_value() ? 1 : 0);
      out.PutString(value.value_or(""));
    }
  }
  return HashBytes(out.bytes());
}

}  // namespace

Result<Listing> ListTable(source::Source& source, const std::string& uri,
                          Deadline deadline) {
  FB_ASSIGN_OR_RETURN(Uri parsed, Uri::Parse(uri));
  Listing listing;
  listing.uri = parsed.ToString();
  listing.origin = source.origin();
  FB_RETURN_NOT_OK(ListObjects(source, listing, deadline));
  std::ranges::sort(listing.objects, {}, &model::Object::uri);
  FB_RETURN_NOT_OK(FindFormat(source, listing, deadline));
  listing.partitions = FindPartitions(listing.root, listing.objects);
  listing.version = VersionOf(listing);
  return listing;
}

}  // namespace forebay::table
