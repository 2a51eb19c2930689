#include "table/dataset/file_layouts.h"

#include <fmt/format.h>

#include <unordered_map>

#include "base/bytes.h"
#include "table/by_id/labels.h"
#include "table/files/decode_error.h"
#include "table/memory_jobs.h"

namespace forebay::table {
namespace {

constexpr uint32_t kShelfFormat = 1;

Result<IdLayout> Inspect(const LayoutRequest& request, const PlanOptions& options,
                         size_t i) {
  const live::FileRef& file = (*request.files)[i];
  ObjectAccess access{.source = request.source,
                      .object = file.object,
                      .memory_pool = options.memory_pool ? options.memory_pool
                                                         : arrow::default_memory_pool(),
                      .pool = nullptr,
                      .deadline = options.deadline};
  FB_ASSIGN_OR_RETURN(auto opened, OpenTableFile(file.format, access, options.footers));
  IdLayout layout;
  auto groups = Decoded(Guard([&] { return opened->Groups(); }));
  if (!groups.ok()) {
    return groups.status().WithContext(fmt::format("{}, footer", file.object.uri));
  }
  layout.groups = *std::move(groups);
  auto labelled = request.columns->Label(*opened->schema(), file.format);
  if (!labelled.ok()) return labelled.status().WithContext(file.object.uri);
  for (const auto& field : (*labelled)->fields()) layout.columns.push_back(field->name());
  layout.reusable = by_id::HasIds(*opened->schema()) || !request.name_mapping.empty();
  return layout;
}

Hash128 ShelfKey(const LayoutRequest& request, const iceberg::ManifestFile& manifest) {
  Encoder out;
  out.PutString("iceberg layouts");
  out.Put(kShelfFormat);
  out.PutString(request.source->origin());
  out.PutString(manifest.path);
  out.Put(manifest.length);
  out.PutString(request.name_mapping);
  return HashBytes(out.bytes());
}

void PutLayout(Encoder& out, const IdLayout& layout) {
  out.Put<uint32_t>(static_cast<uint32_t>(layout.columns.size()));
  for (const std::string& column : layout.columns) out.PutString(column);
  out.Put<uint32_t>(static_cast<uint32_t>(layout.groups.size()));
  for (const GroupLayout& group : layout.groups) {
    out.Put(group.row_count);
    for (uint64_t bytes : group.column_bytes) out.Put(bytes);
  }
}

IdLayout GetLayout(Decoder& in) {
  IdLayout layout;
  for (uint32_t left = in.GetCount(4); left > 0 && in.ok(); --left) {
    layout.columns.push_back(in.GetString());
  }
  for (uint32_t left = in.GetCount(8); left > 0 && in.ok(); --left) {
    GroupLayout group{.row_count = in.Get<uint64_t>(), .column_bytes = {}};
    for (size_t i = 0; i < layout.columns.size() && in.ok(); ++i) {
      group.column_bytes.push_back(in.Get<uint64_t>());
    }
    layout.groups.push_back(std::move(group));
  }
  return layout;
}

using ByObject = std::unordered_map<Hash128, IdLayout>;

// The kept layouts of a manifest's files. Bytes that make no sense are no layouts.
ByObject Kept(const LayoutShelf& shelf, const Hash128& key) {
  ByObject layouts;
  std::optional<std::string> bytes;
  if (shelf.find) bytes = shelf.find(key);
  if (!bytes) return layouts;
  Decoder in(*bytes);
  for (uint32_t left = in.GetCount(24); left > 0 && in.ok(); --left) {
    Hash128 object;
    object.high = in.Get<uint64_t>();
    object.low = in.Get<uint64_t>();
    layouts.emplace(object, GetLayout(in));
  }
  if (!in.ok()) layouts.clear();
  return layouts;
}

// The files of one Iceberg manifest.
struct Shelved {
  Hash128 key{};
  std::vector<size_t> files{};
  bool all_reusable = true;
  bool any_new = false;
};

std::string EncodeShelved(const Shelved& shelved, const std::vector<Hash128>& objects,
                          const std::vector<IdLayout>& layouts) {
  Encoder out;
  out.Put<uint32_t>(static_cast<uint32_t>(shelved.files.size()));
  for (size_t i : shelved.files) {
    out.Put(objects[i].high);
    out.Put(objects[i].low);
    PutLayout(out, layouts[i]);
  }
  return out.Take();
}

}  // namespace

Result<std::vector<IdLayout>> LayoutsOf(const LayoutRequest& request,
                                        const PlanOptions& options,
                                        const LayoutShelf& shelf) {
  const iceberg::Scan& scan = *request.scan;
  std::vector<Shelved> manifests(scan.manifests.size());
  for (size_t m = 0; m < manifests.size(); ++m) {
    manifests[m].key = ShelfKey(request, scan.manifests[m]);
  }
  for (size_t i = 0; i < scan.data.size(); ++i) {
    manifests[scan.manifest_of[i]].files.push_back(i);
  }
  std::vector<IdLayout> layouts(scan.data.size());
  std::vector<Hash128> objects(scan.data.size());
  std::vector<size_t> missing;
  for (Shelved& shelved : manifests) {
    if (shelved.files.empty()) continue;
    ByObject kept = Kept(shelf, shelved.key);
    for (size_t i : shelved.files) {
      objects[i] = (*request.files)[i].object.ContentHash(request.source->origin());
      auto found = kept.find(objects[i]);
      if (found != kept.end()) {
        layouts[i] = std::move(found->second);
      } else {
        missing.push_back(i);
        shelved.any_new = true;
      }
    }
  }
  auto inspect = [&](size_t n) -> Status {
    FB_ASSIGN_OR_RETURN(layouts[missing[n]], Inspect(request, options, missing[n]));
    return Status::OK();
  };
  auto bytes = [&](size_t n) {
    const live::FileRef& file = (*request.files)[missing[n]];
    return OpenMemoryBytes(file.format, file.object.identity.size);
  };
  FB_RETURN_NOT_OK(RunMemoryJobs({.count = missing.size(),
                                  .bytes = bytes,
                                  .run = inspect,
                                  .pool = options.pool,
                                  .budget = options.budget,
                                  .deadline = options.deadline}));
  for (Shelved& shelved : manifests) {
    for (size_t i : shelved.files) {
      shelved.all_reusable = shelved.all_reusable && layouts[i].reusable;
    }
    // What a filter left out is not known, so such a shelf would be no use to others.
    bool whole = scan.files_skipped == 0;
    if (shelf.keep && whole && shelved.any_new && shelved.all_reusable) {
      shelf.keep(shelved.key, EncodeShelved(shelved, objects, layouts));
    }
  }
  return layouts;
}

}  // namespace forebay::table
