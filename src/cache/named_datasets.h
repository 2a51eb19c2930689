// Datasets that a cluster knows by name (forebay://head:7070/events): a seam, since the
// head is asked by whoever owns the engine.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "base/status.h"
#include "cache/peers.h"
#include "source/source.h"

namespace forebay::cache {

// What a name stands for.
struct NamedDataset {
  std::string uri;            // of the source
  source::Options options{};  // of the source, besides what the caller gave
  std::string manifest{};     // of the version, unless the caller has it
  std::shared_ptr<Peers> peers{};
  bool is_files = false;               // a tree of files, no table
  std::vector<std::string> columns{};  // that it shows; empty: all
};

// Thread-safe.
class NamedDatasets {
 public:
  virtual ~NamedDatasets() = default;
  // With `version`, the manifest is left out: the caller has it. Else it is that of the
  // version which the name stands for now.
  virtual Result<NamedDataset> Find(const std::string& uri,
                                    std::optional<Hash128> version,
                                    Deadline deadline) = 0;
};

constexpr char kNamedScheme[] = "forebay://";

struct NamedRequest {
  std::string uri{};
  source::Options options{};  // of the caller: there may be none
  std::optional<Hash128> version{};
  bool is_files = false;
  Deadline deadline = Deadline::Never();
};
// With an error for who takes a table for files, or has options that are the head's.
// `datasets` is null where there is no head.
Result<NamedDataset> FindNamed(NamedDatasets* datasets, const NamedRequest& request);

}  // namespace forebay::cache
