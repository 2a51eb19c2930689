#include "head/versions.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/errno_status.h"
#include "base/uri.h"
#include "files/lister.h"
#include "model/schema.h"
#include "storage/file_io.h"
#include "table/dataset/dataset.h"
#include "table/memory_jobs.h"

namespace forebay::head {
namespace {

// Manifests that are mapped though nobody asks for them.
constexpr size_t kOpenMax = 256;
constexpr size_t kSourcesMax = 256;

bool IsVersion(const std::string& version) {
  return Hash128::FromHex(version).has_value();
}

// Gone with the scope, unless it was given its name.
class PartFile {
 public:
  // Of this call alone, however many threads write the same version.
  static Result<PartFile> Make(const std::string& path) {
    std::string name = path + ".XXXXXX";
    UniqueFd fd(::mkostemp(name.data(), O_CLOEXEC));
    if (!fd.valid()) return ErrnoStatus(errno, "make a file like " + name);
    return PartFile(std::move(name), std::move(fd));
  }
  PartFile(PartFile&& other) noexcept
      : name_(std::exchange(other.name_, {})), fd_(std::move(other.fd_)) {}
  PartFile& operator=(PartFile&&) = delete;
  ~PartFile() {
    if (!name_.empty()) ::unlink(name_.c_str());
  }
  Status Write(std::string_view bytes) {
    FB_RETURN_NOT_OK(storage::WriteAll(fd_.get(), bytes.data(), bytes.size()));
    return ::fsync(fd_.get()) == 0 ? Status::OK() : ErrnoStatus(errno, "fsync " + name_);
  }
  Status Rename(const std::string& path) {
    if (std::rename(name_.c_str(), path.c_str()) != 0) {
      return ErrnoStatus(errno, "rename " + name_);
    }
    name_.clear();
    return Status::OK();
  }

 private:
  PartFile(std::string name, UniqueFd fd) : name_(std::move(name)), fd_(std::move(fd)) {}
  std::string name_;
  UniqueFd fd_;
};

Status WriteFile(const std::string& path, std::string_view bytes) {
  FB_ASSIGN_OR_RETURN(PartFile part, PartFile::Make(path));
  FB_RETURN_NOT_OK(part.Write(bytes));
  return part.Rename(path);
}

Result<model::AnyManifest> MapManifest(const std::string& path) {
  FB_ASSIGN_OR_RETURN(UniqueFd fd, storage::OpenFile(path, O_RDONLY | O_CLOEXEC));
  FB_ASSIGN_OR_RETURN(uint64_t size, storage::FileSize(fd.get()));
  FB_ASSIGN_OR_RETURN(auto mapping, Mapping::Map(fd.get(), size, Mapping::Mode::kShared));
  return model::AnyManifest::View(mapping->bytes(), mapping);
}

}  // namespace

Versions::Versions(Options options)
    : options_(std::move(options)),
      allowed_(options_.allowed),
      memory_(static_cast<int64_t>(options_.plan_memory_bytes)),
      budget_(table::ReservableBytes(options_.plan_memory_bytes)),
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
  std::pair key{parsed.scheme + "://" + parsed.authority, options};
  if (auto found = sources_.find(key); found != sources_.end()) return found->second;
  FB_ASSIGN_OR_RETURN(std::shared_ptr<source::Source> source,
                      source::OpenSource(uri, options));
  // Credentials that are renewed make a new source each time.
  if (sources_.size() >= kSourcesMax) sources_.clear();
  sources_.emplace(std::move(key), source);
  return source;
}

// Counts a pin for as long as it lives.
class Versions::Turn {
 public:
  explicit Turn(Versions* versions) : versions_(versions) {}
  ~Turn() {
    {
      std::lock_guard lock(versions_->mutex_);
      --versions_->pins_;
    }
    versions_->turn_.notify_one();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Versions* versions_;
};

Status Versions::WaitForTurn(Deadline deadline) {
  std::unique_lock lock(mutex_);
  auto is_free = [this] { return pins_ < options_.pins_max; };
  if (!is_free()) {
    if (waiting_ >= options_.waiting_max) {
      return Status::Unavailable("the head plans as many datasets as it can: try again");
    }
    ++waiting_;
    bool free = turn_.wait_for(lock, deadline.Remaining(), is_free);
    --waiting_;
    if (!free) {
      return Status::Deadline("the head was busy with other datasets all the time");
    }
  }
  ++pins_;
  return Status::OK();
}

Result<model::AnyManifest> Versions::Pin(const Dataset& dataset, Deadline deadline) {
  FB_RETURN_NOT_OK(allowed_.Check(dataset.source, dataset.options));
  FB_RETURN_NOT_OK(WaitForTurn(deadline));
  Turn turn(this);
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
    table::PlanOptions plan{.pool = &pool_,
                            .memory_pool = &memory_,
                            .budget = &budget_,
                            .deadline = deadline};
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
