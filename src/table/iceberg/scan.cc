#include "table/iceberg/scan.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "table/iceberg/manifest.h"
#include "table/iceberg/manifest_list.h"

namespace forebay::table::iceberg {
namespace {

// Which manifest is read, and what came out of it.
struct Part {
  ManifestFile manifest;
  ManifestContents contents;
  bool described = true;  // false: only its path is known before it is read
};

std::string Context(std::string_view what, const std::string& path) {
  return fmt::format("{} {}", what, path);
}

Result<std::vector<Part>> ListParts(const Snapshot& snapshot,
                                    const ScanOptions& options) {
  std::vector<Part> parts;
  if (snapshot.manifest_list.empty()) {
    for (const std::string& path : snapshot.manifests) {
      Part& part = parts.emplace_back();
      part.manifest.path = path;
      part.manifest.added_snapshot_id = snapshot.id;
      part.described = false;
    }
    return parts;
  }
  FB_ASSIGN_OR_RETURN(std::string bytes, options.read(snapshot.manifest_list));
  auto list = ParseManifestList(bytes);
  if (!list.ok()) {
    return list.status().WithContext(Context("manifest list", snapshot.manifest_list));
  }
  for (ManifestFile& manifest : *list)
    parts.emplace_back().manifest = std::move(manifest);
  return parts;
}

// False: nothing in it is live.
bool HasFiles(const ManifestFile& manifest) {
  return manifest.added_files.value_or(1) != 0 ||
         manifest.existing_files.value_or(1) != 0;
}

Status CheckUsable(const TableMetadata& metadata, const ManifestFile& manifest) {
  if (manifest.encrypted) {
    return Status::Unsupported("encrypted tables are not supported: manifest=" +
                               manifest.path);
  }
  // Filters look the spec up.
  if (metadata.FindSpec(manifest.spec_id) == nullptr) {
    return Status::Corrupt(
        fmt::format("a manifest's partition spec is not in the table metadata: "
                    "manifest={} spec-id={}",
                    manifest.path, manifest.spec_id));
  }
  return Status::OK();
}

Status ReadPart(const TableMetadata& metadata, const ScanOptions& options, Part* part) {
  FB_ASSIGN_OR_RETURN(std::string bytes, options.read(part->manifest.path));
  ManifestFile& manifest = part->manifest;
  if (!part->described) {
    auto described = DescribeManifest(bytes);
    if (!described.ok()) return described.status();
    manifest.spec_id = described->spec_id;
    manifest.holds_deletes = described->holds_deletes;
    manifest.length = described->length;
  }
  if (metadata.format_version == 1) manifest.sequence_number = 0;
  // The number of files tells better whether any are missing: tools that rewrite paths
  // leave old sizes behind.
  bool counted = manifest.added_files && manifest.existing_files;
  if (!counted && manifest.length > static_cast<int64_t>(bytes.size())) {
    return Status::Corrupt(
        fmt::format("the manifest is shorter than its list says: expected={} got={}",
                    manifest.length, bytes.size()));
  }
  ManifestRequest request{.metadata = &metadata,
                          .manifest = &manifest,
                          .filter = options.filter,
                          .keep_metrics = options.keep_metrics};
  FB_ASSIGN_OR_RETURN(part->contents, ParseManifest(bytes, request));
  return Status::OK();
}

Status ReadParts(const TableMetadata& metadata, const ScanOptions& options,
                 std::vector<Part>* parts) {
  auto read = [&](size_t i) {
    Part& part = (*parts)[i];
    Status status = ReadPart(metadata, options, &part);
    return status.ok() ? status
                       : status.WithContext(Context("manifest", part.manifest.path));
  };
  return ForEach(options.pool, parts->size(), read);
}

void AddDeletes(std::vector<DataFile>&& deletes, Scan* scan) {
  for (DataFile& file : deletes) {
    auto& target = file.is_deletion_vector() ? scan->deletion_vectors
                   : file.content == FileContent::kPositionDeletes
                       ? scan->position_deletes
                       : scan->equality_deletes;
    target.push_back(std::move(file));
  }
}

void AddPart(Part&& part, Scan* scan) {
  scan->files_skipped += part.contents.files_skipped;
  AddDeletes(std::move(part.contents.deletes), scan);
  if (part.manifest.holds_deletes) return;
  scan->manifest_of.insert(scan->manifest_of.end(), part.contents.data.size(),
                           static_cast<uint32_t>(scan->manifests.size()));
  std::ranges::move(part.contents.data, std::back_inserter(scan->data));
  scan->manifests.push_back(std::move(part.manifest));
}

Status CheckUnique(const std::vector<DataFile>& files) {
  std::unordered_set<std::string_view> paths;
  paths.reserve(files.size());
  for (const DataFile& file : files) {
    if (!paths.insert(file.path).second) {
      return Status::Corrupt("the snapshot lists a data file twice: file=" + file.path);
    }
  }
  return Status::OK();
}

}  // namespace

Result<Scan> PlanScan(const TableMetadata& metadata, const Snapshot& snapshot,
                      const ScanOptions& options) {
  FB_ASSIGN_OR_RETURN(std::vector<Part> listed, ListParts(snapshot, options));
  Scan scan;
  std::vector<Part> parts;
  for (Part& part : listed) {
    if (part.described) {
      if (!HasFiles(part.manifest)) continue;
      FB_RETURN_NOT_OK(CheckUsable(metadata, part.manifest));
      if (options.filter != nullptr && !options.filter->MayMatch(part.manifest)) {
        ++scan.manifests_skipped;
        continue;
      }
    }
    parts.push_back(std::move(part));
  }
  FB_RETURN_NOT_OK(ReadParts(metadata, options, &parts));
  size_t data_count = 0;
  for (const Part& part : parts) data_count += part.contents.data.size();
  scan.data.reserve(data_count);
  scan.manifest_of.reserve(data_count);
  for (Part& part : parts) AddPart(std::move(part), &scan);
  FB_RETURN_NOT_OK(CheckUnique(scan.data));
  return scan;
}

}  // namespace forebay::table::iceberg
