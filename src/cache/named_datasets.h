// Datasets that a cluster knows by name (forebay://head:7070/events): a seam, since the
// head is asked by whoever owns the engine.
#pragma once

#include <memory>
#include <optional>
#include <string>

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

}  // namespace forebay::cache
