#include "head/versions.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/errno_status.h"
#include "base/uri.h"
#include "files/lister.h"
#include "model/schema.h"
#include "storage/file_io.h"
#include "table/dataset/dataset.h"

namespace forebay::head {
namespace {

// Manifests that are mapped though nobody asks for them.
constexpr size_t kOpenMax = 256;

bool IsVersion(const std::string& version) {
  return Hash128::FromHex(version).has_value();
}

Status WriteFile(const std::string& path, std::string_view bytes) {
  std::string part = fmt::format("{}.{}.part", path, ::getpid());
  UniqueFd fd(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd.valid()) return ErrnoStatus(errno, "open " + part);
  FB_RETURN_NOT_OK(storage::WriteAll(fd.get(), bytes.data(), bytes.size()));
  if (::fsync(fd.get()) != 0) return ErrnoStatus(errno, "fsync " + part);
  if (std::rename(part.c_str(), path.c_str()) != 0) {
    return ErrnoStatus(errno, "rename " + part);
  }
  return Status::OK();
}

Result<model::AnyManifest> MapManifest(const std::string& path) {
  FB_ASSIGN_OR_RETURN(UniqueFd fd, storage::OpenFile(path, O_RDONLY | O_CLOEXEC));
  FB_ASSIGN_OR_RETURN(uint64_t size, storage::FileSize(fd.get()));
  FB_ASSIGN_OR_RETURN(auto mapping, Mapping::Map(fd.get(), size, Mapping::Mode::kShared));
  return model::AnyManifest::View(mapping->bytes(), mapping);
}

// Counts a pin for as long as it lives.
class Turn {
 public:
  Turn(std::mutex& mutex, size_t* count) : mutex_(mutex), count_(count) {}
  ~Turn() {
    std::lock_guard lock(mutex_);
    --*count_;
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  std::mutex& mutex_;
  size_t* count_;
};

}  // namespace

Versions::Versions(Options options)
    : options_(std::move(options)),
      allowed_(options_.allowed),
      pool_(options_.read_threads) {}

Result<std::unique_ptr<Versions>> Versions::Open(Options options) {
  FB_RETURN_NOT_OK(storage::MakeDirectories(options.folder));
  return std::unique_ptr<Versions>(new Versions(std::move(options)));
}

std::string Versions::PathOf(const std::string& version) const {
  return options_.folder + "/" + version + ".manifest";
}

Result<std::shared_ptr<source::Source>> Versions::SourceFor(
    const std::string& uri, const source::Options& options) {
  FB_RETURN_NOT_OK(allowed_.Check(uri));
  FB_ASSIGN_OR_RETURN(Uri parsed, Uri::Parse(uri));
  std::lock_guard lock(mutex_);
  auto& source = sources_[{parsed.scheme + "://" + parsed.authority, options}];
  if (source == nullptr) {
    FB_ASSIGN_OR_RETURN(source, source::OpenSource(uri, options));
  }
  return source;
}

Result<model::AnyManifest> Versions::Pin(const Dataset& dataset, Deadline deadline) {
  FB_RETURN_NOT_OK(allowed_.Check(dataset.source, dataset.options));
  {
    std::lock_guard lock(mutex_);
    if (pins_ >= options_.pins_max) {
      return Status::Unavailable("the head plans as many datasets as it can: try again");
    }
    ++pins_;
  }
  Turn turn(mutex_, &pins_);
  return dataset.is_files ? PinFiles(dataset, deadline) : PinTable(dataset, deadline);
}

Result<model::AnyManifest> Versions::PinTable(const Dataset& dataset, Deadline deadline) {
  table::DatasetRequest request{
      .uri = dataset.source,
      .options = dataset.options,
      .open_source = [this](const std::string& at,
                            const source::Options& with) { return SourceFor(at, with); },
      .deadline = deadline};
  FB_ASSIGN_OR_RETURN(auto pinned, table::PinDataset(request));
  std::string version = pinned->version().ToHex();
  auto manifest = Find(version);
  if (!manifest.ok()) {
    // The same cuts as nodes make (cache::Catalog), so that all agree on units.
    table::PlanOptions plan{.pool = &pool_, .deadline = deadline};
    table::LayoutShelf shelf{
        .find = [](const Hash128&) -> std::optional<std::string> { return {}; },
        .keep = [](const Hash128&, const std::string&) {}};
    FB_ASSIGN_OR_RETURN(std::string bytes, pinned->Plan(plan, shelf));
    FB_RETURN_NOT_OK(Keep(version, bytes));
    manifest = Find(version);
    if (!manifest.ok()) return manifest.status();
  }
  if (manifest->table() == nullptr) return Status::Corrupt("a table's manifest is none");
  const model::Schema& schema = manifest->table()->schema();
  FB_RETURN_NOT_OK(model::Project(schema, dataset.columns).status());
  return manifest;
}

Result<model::AnyManifest> Versions::PinFiles(const Dataset& dataset, Deadline deadline) {
  FB_ASSIGN_OR_RETURN(auto source, SourceFor(dataset.source, dataset.options));
  files::Lister lister(std::move(source), dataset.source);
  FB_RETURN_NOT_OK(lister.Run(deadline));
  std::string bytes = lister.BuildManifest();
  std::shared_ptr<const void> unowned(&bytes, [](const void*) {});
  FB_ASSIGN_OR_RETURN(auto manifest, model::FilesManifest::View(bytes, unowned));
  std::string version = manifest->version().ToHex();
  if (!Has(version)) FB_RETURN_NOT_OK(Keep(version, bytes));
  return Find(version);
}

Result<model::AnyManifest> Versions::Find(const std::string& version) {
  if (!IsVersion(version)) {
    return Status::Invalid("a version is called by 32 hexadecimal digits");
  }
  std::lock_guard lock(mutex_);
  if (auto found = open_.find(version); found != open_.end()) {
    asked_.insert(version);
    return found->second;
  }
  auto manifest = MapManifest(PathOf(version));
  if (manifest.status().code() == StatusCode::kNotFound) {
    return Status::NotFound("this head has no version " + version);
  }
  if (!manifest.ok()) return manifest.status();
  if (open_.size() >= kOpenMax) open_.clear();
  open_.insert_or_assign(version, *manifest);
  asked_.insert(version);
  return manifest;
}

void Versions::Forget(const std::vector<std::string>& used) {
  std::set<std::string> needed(used.begin(), used.end());
  {
    std::lock_guard lock(mutex_);
    needed.merge(asked_);
    asked_.clear();
  }
  std::error_code error;
  auto now = std::filesystem::file_time_type::clock::now();
  std::filesystem::directory_iterator entry(options_.folder, error);
  for (; !error && entry != std::filesystem::directory_iterator();
       entry.increment(error)) {
    std::error_code ignored;  // one that is gone needs no forgetting
    std::string version = entry->path().stem();
    if (needed.contains(version)) {
      std::filesystem::last_write_time(entry->path(), now, ignored);
      continue;
    }
    bool old = now - entry->last_write_time(ignored) > options_.kept_unused && !ignored;
    std::lock_guard lock(mutex_);
    if (!old || asked_.contains(version)) continue;
    open_.erase(version);
    std::filesystem::remove(entry->path(), ignored);
  }
}

bool Versions::Has(const std::string& version) { return Find(version).ok(); }

Result<model::AnyManifest> Versions::Recall(const Dataset& dataset, Deadline deadline) {
  auto found = Find(dataset.version);
  if (found.ok()) return found;
  FB_ASSIGN_OR_RETURN(auto now, Pin(dataset, deadline));
  if (now.version().ToHex() == dataset.version) return now;
  return Status::Changed(fmt::format(
      "the source of dataset {} no longer holds version {}: refresh the dataset",
      dataset.name, dataset.version));
}

Status Versions::Keep(const std::string& version, const std::string& bytes) {
  auto owner = std::make_shared<const std::string>(bytes);
  FB_ASSIGN_OR_RETURN(auto manifest, model::AnyManifest::View(*owner, owner));
  if (manifest.version().ToHex() != version) {
    return Status::Corrupt("a manifest is not of the version it was kept for: " +
                           version);
  }
  return WriteFile(PathOf(version), bytes);
}

}  // namespace forebay::head
