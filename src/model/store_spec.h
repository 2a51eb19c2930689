// A store as a person writes it: "mem:4GiB,ssd:/var/cache/forebay:100GiB".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace forebay::model {

enum class Medium { kMem, kSsd, kHdd, kNfs };

std::string_view MediumName(Medium medium);

// medium[:directory][:quota]. Without a directory a mem tier is memfds and dies with the
// node. The quota is a size or, of a directory, a share ("50%") of what its file system
// has free when the store is opened. Without a quota only the file system's free-space
// floor limits a directory.
struct TierSpec {
  Medium medium = Medium::kSsd;
  std::string path;
  uint64_t quota_bytes = 0;    // 0: no size was given
  uint32_t quota_percent = 0;  // 0: no share was given

  friend bool operator==(const TierSpec&, const TierSpec&) = default;
};

Result<std::vector<TierSpec>> ParseStoreSpec(std::string_view text);
// Canonical: the same store always gives the same text (absolute paths, bytes).
std::string FormatStoreSpec(const std::vector<TierSpec>& tiers);

// What to tell whoever wrote the store though it can be used: that it has more memory
// than the machine, say. Sentences.
std::vector<std::string> StoreWarnings(const std::vector<TierSpec>& tiers,
                                       uint64_t memory_bytes);

}  // namespace forebay::model
