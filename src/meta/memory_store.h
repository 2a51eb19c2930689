// A MetaStore that ends with the process: for tests, and for a head whose datasets are
// declared each time it starts.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "meta/meta_store.h"

namespace forebay::meta {

class MemoryStore : public MetaStore {
 public:
  explicit MemoryStore(const Clock* clock = &Clock::Real()) : clock_(clock) {}

  Result<Entry> Get(const std::string& key) override;
  Result<uint64_t> Put(const std::string& key, const std::string& value,
                       const PutOptions& options) override;
  Status Delete(const std::string& key, std::optional<uint64_t> if_version) override;
  Result<Listing> List(const std::string& prefix) override;
  Result<uint64_t> WaitForChange(const std::string& prefix, uint64_t revision,
                                 Deadline deadline) override;
  Result<LeaseId> GrantLease(milliseconds ttl) override;
  Status KeepAlive(LeaseId lease) override;
  Status EndLease(LeaseId lease) override;

 private:
  struct Value {
    std::string text;
    uint64_t version;
    LeaseId lease;
  };
  struct Lease {
    milliseconds ttl;
    TimePoint ends;
  };
  // All under the mutex.
  void Expire();
  void EndLocked(LeaseId lease);
  void Changed();
  Status CheckVersion(const std::string& key, std::optional<uint64_t> expected) const;

  const Clock* clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Value> values_;
  std::map<LeaseId, Lease> leases_;
  uint64_t revision_ = 1;
  LeaseId next_lease_ = 1;
};

}  // namespace forebay::meta
