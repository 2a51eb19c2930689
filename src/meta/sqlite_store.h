// A MetaStore in a file, for one head on one machine.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "meta/meta_store.h"
#include "sqlite/database.h"

namespace forebay::meta {

class SqliteStore : public MetaStore {
 public:
  // Made where it is missing, for its owner alone: datasets may carry credentials.
  static Result<std::unique_ptr<SqliteStore>> Open(const std::string& path,
                                                   const Clock* clock = &Clock::Real());

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
  SqliteStore(sqlite::Database database, const Clock* clock);

  // Runs `work` in one transaction, after ended leases are gone.
  Status Transact(const std::function<Status()>& work);
  // The rest runs inside of one.
  Status Expire();
  Status EndLeases(const std::string& condition);
  Result<uint64_t> Revision();
  Result<uint64_t> NextRevision();
  Result<uint64_t> VersionOf(const std::string& key);
  Status CheckVersion(const std::string& key, std::optional<uint64_t> expected);
  Status CheckLease(LeaseId lease);
  int64_t Now() const;

  std::mutex mutex_;
  sqlite::Database database_;
  const Clock* clock_;
  std::string boot_;  // times of the monotonic clock mean nothing after the next one
};

}  // namespace forebay::meta
