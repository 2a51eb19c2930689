// Leases of ranks on several hosts: plan::LeaseTable kept in the metadata store, so that
// a head that takes over goes on with them. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "meta/meta_store.h"
#include "plan/lease_table.h"

namespace forebay::head {

class Leases {
 public:
  struct Options {
    meta::MetaStore* store = nullptr;  // must outlive this
    uint64_t term = 1;
    const Clock* clock = &Clock::Real();
    size_t tables_max = 10'000;  // epochs
    std::chrono::hours kept_unused{24 * 14};
  };
  explicit Leases(Options options) : options_(options) {}

  // `verb` is take, acknowledge, release or progress; the request says which epoch, of
  // how many rows, and who asks (docs/api.yaml). kChanged: the lease was given to
  // another.
  Result<nlohmann::json> Answer(const std::string& verb, std::string_view request);
  // Drops the tables that nobody has asked for in kept_unused; called now and then.
  Status Forget();

 private:
  // What all requests have.
  struct Epoch {
    std::string name;  // whatever its order depends on
    plan::LeaseTable::Options table;
    std::string holder;
    std::string request{};  // of a take, chosen by the holder; empty: none
  };
  struct Kept;  // the table as it is stored

  using Change = std::function<Status(plan::LeaseTable&, Kept&)>;
  static Status Check(const Epoch& epoch);
  Result<nlohmann::json> Take(const Epoch& epoch);
  // The lease that an earlier take with the same request was given, if it is still held.
  static std::optional<plan::Lease> Repeated(const Epoch& epoch, const Kept& kept);
  Result<nlohmann::json> Progress(const Epoch& epoch) const;
  Status Acknowledge(const Epoch& epoch, uint64_t fence, uint64_t until);
  Status Do(const Epoch& epoch, const Change& change);
  // As it is by this head's clock.
  Result<Kept> ReadNow(const Epoch& epoch) const;
  Result<Kept> Read(const Epoch& epoch) const;
  Status Write(const Epoch& epoch, const Kept& kept) const;
  int64_t NowMs() const;

  Options options_;
  std::mutex mutex_;
  // The keys of tables in the store, and when they were last asked for as far as this
  // head knows.
  std::map<std::string, TimePoint> used_;
};

}  // namespace forebay::head
