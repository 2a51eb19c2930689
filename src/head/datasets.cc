#include "head/datasets.h"

#include <fmt/format.h>

#include "model/source_options.h"

namespace forebay::head {
namespace {

constexpr char kPrefix[] = "datasets/";

Result<Dataset> FromStore(const meta::Entry& entry) {
  auto dataset = ParseDataset(entry.value);
  if (dataset.ok()) return dataset;
  return Status::Corrupt(fmt::format("the metadata of {} makes no sense: {}", entry.key,
                                     dataset.status().message()));
}

// The one that has the name already, where it is the same.
Result<Dataset> SameOrTaken(Dataset there, const Dataset& wish) {
  std::string difference = DifferenceOf(there, wish);
  if (difference.empty()) return there;
  return Status::Changed(
      fmt::format("there is a dataset {} already, and it is another one: {}. Delete it "
                  "first, or choose another name",
                  wish.name, difference));
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
  FB_RETURN_NOT_OK(dataset.is_files ? model::CheckFilesOptions(dataset.options)
                                    : model::CheckOptions(dataset.options));
  auto there = Get(dataset.name);
  if (there.ok()) return SameOrTaken(*std::move(there), dataset);
  if (there.status().code() != StatusCode::kNotFound) return there.status();
  FB_ASSIGN_OR_RETURN(auto manifest, versions_->Pin(dataset, deadline));
  dataset.version = manifest.version().ToHex();
  auto put = store_->Put(kPrefix + dataset.name, DatasetJson(dataset),
                         {.if_version = meta::kAbsent});
  if (put.ok()) return dataset;
  if (put.status().code() != StatusCode::kChanged) return put.status();
  // Another caller was faster, maybe with the same wish.
  FB_ASSIGN_OR_RETURN(Dataset first, Get(dataset.name));
  return SameOrTaken(std::move(first), dataset);
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
