#include "meta/memory_store.h"

#include <algorithm>

#include "meta/store_errors.h"

namespace forebay::meta {
namespace {

// Leases end by the clock, which may be one that tests move: somebody who waits looks so
// often.
constexpr milliseconds kLeaseLook{20};

}  // namespace

void MemoryStore::Changed() {
  ++revision_;
  changed_.notify_all();
}

void MemoryStore::EndLocked(LeaseId lease) {
  leases_.erase(lease);
  for (auto it = values_.begin(); it != values_.end();) {
    if (it->second.lease == lease) {
      Changed();
      it = values_.erase(it);
    } else {
      ++it;
    }
  }
}

void MemoryStore::Expire() {
  TimePoint now = clock_->Now();
  std::vector<LeaseId> ended;
  for (const auto& [id, lease] : leases_) {
    if (lease.ends <= now) ended.push_back(id);
  }
  for (LeaseId id : ended) EndLocked(id);
}

Status MemoryStore::CheckVersion(const std::string& key,
                                 std::optional<uint64_t> expected) const {
  auto found = values_.find(key);
  uint64_t version = found == values_.end() ? kAbsent : found->second.version;
  if (!expected.has_value() || *expected == version) return Status::OK();
  return VersionChanged(key);
}

Result<Entry> MemoryStore::Get(const std::string& key) {
  std::lock_guard lock(mutex_);
  Expire();
  auto found = values_.find(key);
  if (found == values_.end()) return NoSuchKey(key);
  return Entry{key, found->second.text, found->second.version};
}

Result<uint64_t> MemoryStore::Put(const std::string& key, const std::string& value,
                                  const PutOptions& options) {
  std::lock_guard lock(mutex_);
  Expire();
  FB_RETURN_NOT_OK(CheckVersion(key, options.if_version));
  if (options.lease != kNoLease && !leases_.contains(options.lease)) {
    return NoSuchLease(options.lease);
  }
  Changed();
  values_[key] = {value, revision_, options.lease};
  return revision_;
}

Status MemoryStore::Delete(const std::string& key, std::optional<uint64_t> if_version) {
  std::lock_guard lock(mutex_);
  Expire();
  if (!values_.contains(key)) return NoSuchKey(key);
  FB_RETURN_NOT_OK(CheckVersion(key, if_version));
  values_.erase(key);
  Changed();
  return Status::OK();
}

Result<Listing> MemoryStore::List(const std::string& prefix) {
  std::lock_guard lock(mutex_);
  Expire();
  Listing listing{.entries = {}, .revision = revision_};
  for (auto it = values_.lower_bound(prefix);
       it != values_.end() && it->first.starts_with(prefix); ++it) {
    listing.entries.push_back({it->first, it->second.text, it->second.version});
  }
  return listing;
}

Result<uint64_t> MemoryStore::WaitForChange(const std::string&, uint64_t revision,
                                            Deadline deadline) {
  std::unique_lock lock(mutex_);
  while (true) {
    Expire();
    if (revision_ > revision) return revision_;
    if (deadline.passed()) return revision;
    changed_.wait_for(lock, std::min(kLeaseLook, deadline.Remaining()));
  }
}

Result<LeaseId> MemoryStore::GrantLease(milliseconds ttl) {
  std::lock_guard lock(mutex_);
  leases_[next_lease_] = {ttl, clock_->Now() + ttl};
  return next_lease_++;
}

Status MemoryStore::KeepAlive(LeaseId lease) {
  std::lock_guard lock(mutex_);
  Expire();
  auto found = leases_.find(lease);
  if (found == leases_.end()) return NoSuchLease(lease);
  found->second.ends = clock_->Now() + found->second.ttl;
  return Status::OK();
}

Status MemoryStore::EndLease(LeaseId lease) {
  std::lock_guard lock(mutex_);
  Expire();
  if (!leases_.contains(lease)) return NoSuchLease(lease);
  EndLocked(lease);
  return Status::OK();
}

}  // namespace forebay::meta
