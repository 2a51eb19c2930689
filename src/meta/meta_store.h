// Where a head keeps what cannot be recomputed: a small ordered map from keys to values
// with versions, leases, and waiting for change. docs/formats/metadata.md has the keys.
//
// All implementations pass one suite (meta_store_test.cc). Thread-safe; each call blocks
// its thread. Failures beside those named: kUnavailable (the store is not reachable now;
// a write may or may not have happened), kPermission, kCorrupt.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace forebay::meta {

// Versions only grow: a key that is deleted and written again gets a larger one.
constexpr uint64_t kAbsent = 0;

using LeaseId = int64_t;
constexpr LeaseId kNoLease = 0;

struct Entry {
  std::string key{};
  std::string value{};
  uint64_t version = kAbsent;

  friend bool operator==(const Entry&, const Entry&) = default;
};

struct Listing {
  std::vector<Entry> entries;  // by key
  uint64_t revision = 0;       // of the whole store when it was read; see WaitForChange
};

struct PutOptions {
  // Write only while the key has this version; kAbsent: only where there is none.
  std::optional<uint64_t> if_version{};
  LeaseId lease = kNoLease;  // the key goes when the lease ends
};

class MetaStore {
 public:
  virtual ~MetaStore() = default;

  // kNotFound: no such key.
  virtual Result<Entry> Get(const std::string& key) = 0;
  // The new version. kChanged: the key does not have the version that was asked for.
  // kNotFound: there is no such lease (any more).
  virtual Result<uint64_t> Put(const std::string& key, const std::string& value,
                               const PutOptions& options) = 0;
  // kChanged as above, kNotFound where there was nothing.
  virtual Status Delete(const std::string& key,
                        std::optional<uint64_t> if_version = {}) = 0;
  // Every key that begins with `prefix`.
  virtual Result<Listing> List(const std::string& prefix) = 0;
  // Blocks until something below `prefix` may have changed after `revision` and gives the
  // revision of that; gives `revision` itself once the deadline has passed. May wake for
  // nothing, never misses a change: list again and go on with the listing's revision.
  virtual Result<uint64_t> WaitForChange(const std::string& prefix, uint64_t revision,
                                         Deadline deadline) = 0;

  // A promise to come back within `ttl`, rounded up as the store needs. Ends by itself,
  // and its keys with it, when nobody keeps it alive.
  virtual Result<LeaseId> GrantLease(milliseconds ttl) = 0;
  // The lease begins anew. kNotFound: it has ended.
  virtual Status KeepAlive(LeaseId lease) = 0;
  // Ends it now. kNotFound as above.
  virtual Status EndLease(LeaseId lease) = 0;
};

struct OpenOptions {
  const Clock* clock = &Clock::Real();  // of leases; etcd has its own
};

// memory: | sqlite:/path | etcd://host:port,host:port[/prefix][?ca=/path] (etcds:// for
// TLS; user:password@ before the hosts, or FOREBAY_ETCD_USER and FOREBAY_ETCD_PASSWORD).
Result<std::unique_ptr<MetaStore>> OpenMetaStore(const std::string& uri,
                                                 const OpenOptions& options = {});

}  // namespace forebay::meta
