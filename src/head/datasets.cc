#include "head/datasets.h"

#include <fmt/format.h>

namespace forebay::head {
namespace {

constexpr char kPrefix[] = "datasets/";

Result<Dataset> FromStore(const meta::Entry& entry) {
  auto dataset = ParseDataset(entry.value);
  if (dataset.ok()) return dataset;
  return Status::Corrupt(fmt::format("the metadata of {} makes no sense: {}", entry.key,
                                     dataset.status().message()));
}

// The same but for the version.
bool SameWish(Dataset a, const Dataset& b) {
  a.version = b.version;
  return DatasetJson(a) == DatasetJson(b);
}

}  // namespace

Result<Datasets::Stored> Datasets::Read(const std::string& name) {
  FB_RETURN_NOT_OK(CheckDatasetName(name));
  auto entry = store_->Get(kPrefix + name);
  if (entry.status().code() == StatusCode::kNotFound) {
    return Status::NotFound(fmt::format("there is no dataset {}", name));
  }
  if (!entry.ok()) return entry.status();
  FB_ASSIGN_OR_RETURN(Dataset dataset, FromStore(*entry));
  return Stored{std::move(dataset), entry->version};
}

Result<Dataset> Datasets::Get(const std::string& name) {
  FB_ASSIGN_OR_RETURN(Stored stored, Read(name));
  return std::move(stored.dataset);
}

Result<Dataset> Datasets::Create(Dataset dataset, Deadline deadline) {
  FB_RETURN_NOT_OK(CheckDatasetName(dataset.name));
  FB_RETURN_NOT_OK(CheckSource(dataset.source));
  Status taken = Status::Changed(
      fmt::format("there is a dataset {} with another source or other options: delete it "
                  "first",
                  dataset.name));
  auto there = Get(dataset.name);
  if (there.ok()) {
    if (SameWish(dataset, *there)) return there;
    return taken;
  }
  if (there.status().code() != StatusCode::kNotFound) return there.status();
  FB_ASSIGN_OR_RETURN(auto manifest, versions_->Pin(dataset, deadline));
  dataset.version = manifest.version().ToHex();
  auto put = store_->Put(kPrefix + dataset.name, DatasetJson(dataset),
                         {.if_version = meta::kAbsent});
  if (put.status().code() == StatusCode::kChanged) return taken;
  if (!put.ok()) return put.status();
  return dataset;
}

Result<std::vector<Dataset>> Datasets::List() {
  FB_ASSIGN_OR_RETURN(meta::Listing listing, store_->List(kPrefix));
  std::vector<Dataset> datasets;
  for (const meta::Entry& entry : listing.entries) {
    FB_ASSIGN_OR_RETURN(Dataset dataset, FromStore(entry));
    datasets.push_back(std::move(dataset));
  }
  return datasets;
}

Result<Dataset> Datasets::Refresh(const std::string& name, Deadline deadline) {
  FB_ASSIGN_OR_RETURN(Stored stored, Read(name));
  FB_ASSIGN_OR_RETURN(auto manifest, versions_->Pin(stored.dataset, deadline));
  std::string version = manifest.version().ToHex();
  if (version == stored.dataset.version) return std::move(stored.dataset);
  stored.dataset.version = version;
  auto put = store_->Put(kPrefix + name, DatasetJson(stored.dataset),
                         {.if_version = stored.version});
  if (!put.ok()) return put.status();
  return std::move(stored.dataset);
}

Status Datasets::Delete(const std::string& name) {
  FB_ASSIGN_OR_RETURN(Stored stored, Read(name));
  return store_->Delete(kPrefix + name, stored.version);
}

}  // namespace forebay::head
