#include "cluster/term.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "cluster/json_fields.h"

namespace forebay::cluster {
namespace {

constexpr char kTermKey[] = "term";
constexpr int kAttempts = 10;

Result<uint64_t> TermIn(const meta::Entry& entry) {
  auto fields = JsonFields::Parse(entry.value, "the term in the metadata store");
  uint64_t term = fields.Number("term");
  if (!fields.status().ok()) return Status::Corrupt(fields.status().message());
  return term;
}

// Writes `change(the stored term)`, which is 0 where none is stored.
Result<uint64_t> Write(meta::MetaStore& store,
                       const std::function<Result<uint64_t>(uint64_t)>& change) {
  for (int i = 0; i < kAttempts; ++i) {
    auto entry = store.Get(kTermKey);
    uint64_t stored = 0;
    uint64_t version = meta::kAbsent;
    if (entry.ok()) {
      FB_ASSIGN_OR_RETURN(stored, TermIn(*entry));
      version = entry->version;
    } else if (entry.status().code() != StatusCode::kNotFound) {
      return entry.status();
    }
    FB_ASSIGN_OR_RETURN(uint64_t term, change(stored));
    if (term > kTermMax) {
      return Status::Corrupt(
          fmt::format("the term in the metadata store cannot grow any more: {}", stored));
    }
    auto put = store.Put(kTermKey, nlohmann::json{{"term", term}}.dump(),
                         {.if_version = version});
    if (put.ok()) return term;
    if (put.status().code() != StatusCode::kChanged) return put.status();
  }
  return Status::Unavailable("other heads change the term again and again");
}

}  // namespace

Result<uint64_t> NextTerm(meta::MetaStore& store) {
  return Write(store, [](uint64_t stored) -> Result<uint64_t> { return stored + 1; });
}

Result<uint64_t> RaiseTerm(meta::MetaStore& store, const TermRaise& raise) {
  if (raise.seen > kSeenTermMax) {
    return Status::Invalid(fmt::format("no head has had term {}", raise.seen));
  }
  return Write(store, [&](uint64_t stored) -> Result<uint64_t> {
    if (stored > raise.own) {
      return Status::Unavailable(
          fmt::format("another head leads by now: term {} follows this head's {}", stored,
                      raise.own));
    }
    return std::max(raise.own, raise.seen) + 1;
  });
}

}  // namespace forebay::cluster
