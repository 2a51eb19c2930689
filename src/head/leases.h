// Leases of ranks on several hosts: plan::LeaseTable kept in the metadata store, so that
// a head that takes over goes on with them. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
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
  };
  explicit Leases(Options options) : options_(options) {}

  // `verb` is take, acknowledge, release or progress; the request says which epoch, of
  // how many rows, and who asks (docs/api.yaml). kChanged: the lease was given to
  // another.
  Result<nlohmann::json> Answer(const std::string& verb, std::string_view request);

 private:
  // What all requests have.
  struct Epoch {
    std::string name;  // whatever its order depends on
    plan::LeaseTable::Options table;
    std::string holder;
  };
  struct Kept;  // the table as it is stored

  using Change = std::function<Status(plan::LeaseTable&, Kept&)>;
  Status Do(const Epoch& epoch, const Change& change);
  Result<Kept> Read(const Epoch& epoch) const;
  Status Write(const Epoch& epoch, const Kept& kept) const;
  int64_t NowMs() const;

  Options options_;
  std::mutex mutex_;
};

}  // namespace forebay::head
