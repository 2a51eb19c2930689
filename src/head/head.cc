#include "head/head.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>

#include "base/errno_status.h"
#include "base/log.h"
#include "base/start_thread.h"
#include "cluster/head_client.h"

namespace forebay::head {
namespace {

constexpr std::chrono::hours kForgetInterval{1};
constexpr milliseconds kTick{500};
constexpr milliseconds kFetchTimeout{60'000};
// So that the terms of heads without a memory grow, too.
constexpr int64_t kTermsSince = 1'700'000'000;

// Nodes beat four times in T.
constexpr milliseconds kTimeoutMin{100};

Status CheckTimes(const Head::Options& options) {
  if (options.timeout < kTimeoutMin) {
    return Status::Invalid(
        fmt::format("the timeout of nodes is {} ms at least, not {} ms",
                    kTimeoutMin.count(), options.timeout.count()));
  }
  if (options.place_kept >= options.timeout) return Status::OK();
  return Status::Invalid(
      "a node's place cannot be kept for less than the time after which it is down");
}

bool IsShared(const std::string& meta) { return meta.starts_with("etcd"); }

// For as long as this process lives, however it ends.
Result<UniqueFd> LockFile(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return ErrnoStatus(errno, "open " + path);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return Status::Unavailable(
        fmt::format("another head uses {}: end it, or use etcd for several heads", path));
  }
  return fd;
}

}  // namespace

Result<std::unique_ptr<Head>> Head::Start(Options options) {
  FB_RETURN_NOT_OK(CheckTimes(options));
  std::unique_ptr<Head> head(new Head(std::move(options)));
  const Options& with = head->options_;
  FB_ASSIGN_OR_RETURN(head->versions_,
                      Versions::Open({.folder = with.state + "/manifests",
                                      .allowed = with.allowed,
                                      .plan_memory_bytes = with.plan_memory_bytes}));
  if (!IsShared(with.meta)) {
    FB_ASSIGN_OR_RETURN(head->lock_, LockFile(with.state + "/head.lock"));
  }
  FB_ASSIGN_OR_RETURN(head->store_, meta::OpenMetaStore(with.meta));
  Head* raw = head.get();
  if (IsShared(with.meta)) {
    FB_ASSIGN_OR_RETURN(
        head->leadership_,
        Leadership::Start({.store = head->store_.get(),
                           .address = with.address,
                           .lease = with.lease,
                           .on_lead = [raw](uint64_t term) { return raw->Begin(term); },
                           .on_lose = [raw] { raw->End(); }}));
  } else {
    FB_RETURN_NOT_OK(head->LeadAlone());
  }
  FB_ASSIGN_OR_RETURN(head->thread_, StartThread([raw] { raw->Run(); }));
  return head;
}

Head::~Head() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  leadership_.reset();
}

Status Head::LeadAlone() {
  if (options_.meta == "memory:") {
    int64_t since = Clock::Real().WallNanos() / 1'000'000'000 - kTermsSince;
    return Begin(static_cast<uint64_t>(std::max<int64_t>(since, 1)));
  }
  FB_ASSIGN_OR_RETURN(uint64_t term, NextTerm(*store_));
  return Begin(term);
}

Status Head::Begin(uint64_t term) {
  auto reign = std::make_shared<Reign>();
  reign->term = term;
  FB_ASSIGN_OR_RETURN(reign->members,
                      cluster::Membership::Load({.store = store_.get(),
                                                 .term = term,
                                                 .timeout = options_.timeout,
                                                 .place_kept = options_.place_kept}));
  reign->datasets = std::make_unique<Datasets>(store_.get(), versions_.get());
  FB_ASSIGN_OR_RETURN(reign->warmups,
                      Warmups::Load({.store = store_.get(), .term = term}));
  reign->leases =
      std::make_unique<Leases>(Leases::Options{.store = store_.get(), .term = term});
  std::lock_guard lock(mutex_);
  reign_ = std::move(reign);
  return Status::OK();
}

void Head::End() {
  std::lock_guard lock(mutex_);
  reign_.reset();
}

std::shared_ptr<Reign> Head::reign() const {
  if (leadership_ != nullptr && !leadership_->leads()) return nullptr;
  std::lock_guard lock(mutex_);
  return reign_;
}

std::string Head::leader() const {
  return leadership_ == nullptr ? options_.address : leadership_->leader();
}

void Head::WorkAsLeader(Reign& reign) {
  Status caught_up = reign.members->CatchUp();
  if (!caught_up.ok()) {
    spdlog::debug("nodes know a later term than this head: {}", caught_up.message());
  }
  Status forgotten = reign.members->ForgetGone();
  if (!forgotten.ok()) {
    spdlog::debug("nodes that are gone are still kept: {}", forgotten.message());
  }
  reign.warmups->Update(*reign.members->roster());
}

// What the leader pinned can only be had from it once the source has changed.
void Head::FetchManifests() {
  std::string leader = this->leader();
  auto datasets = Datasets(store_.get(), versions_.get()).List();
  if (leader.empty() || !datasets.ok()) return;
  auto client = cluster::HeadClient::Make({.heads = {leader}});
  for (const Dataset& dataset : *datasets) {
    if (!client.ok() || versions_->Has(dataset.version)) continue;
    auto bytes = (*client)->Get("/v1/versions/" + dataset.version + "/manifest",
                                Deadline::After(kFetchTimeout));
    Status kept = bytes.ok() ? versions_->Keep(dataset.version, *bytes) : bytes.status();
    if (!kept.ok()) {
      spdlog::debug("the manifest of {} is not here yet: {}", dataset.name,
                    kept.message());
    }
  }
}

void Head::ForgetVersions() {
  auto datasets = Datasets(store_.get(), versions_.get()).List();
  if (!datasets.ok()) return;
  std::vector<std::string> used;
  for (const Dataset& dataset : *datasets) used.push_back(dataset.version);
  versions_->Forget(used);
}

void Head::ForgetLeases(Reign& reign) {
  Status forgotten = reign.leases->Forget();
  if (!forgotten.ok()) spdlog::debug("old leases are kept: {}", forgotten.message());
}

void Head::Run() {
  TimePoint forgot = std::chrono::steady_clock::now();
  while (true) {
    if (std::chrono::steady_clock::now() - forgot > kForgetInterval) {
      ForgetVersions();
      if (auto reign = this->reign()) ForgetLeases(*reign);
      forgot = std::chrono::steady_clock::now();
    }
    if (auto reign = this->reign()) {
      WorkAsLeader(*reign);
    } else {
      FetchManifests();
    }
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, kTick, [this] { return stopping_; })) return;
  }
}

}  // namespace forebay::head
