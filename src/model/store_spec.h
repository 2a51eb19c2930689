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
// node. Without a quota only the file system's free-space floor limits a directory.
struct TierSpec {
  Medium medium = Medium::kSsd;
  std::string path;
  uint64_t quota_bytes = 0;  // 0: no quota

  friend bool operator==(const TierSpec&, const TierSpec&) = default;
};

Result<std::vector<TierSpec>> ParseStoreSpec(std::string_view text);
// Canonical: the same store always gives the same text (absolute paths, bytes).
std::string FormatStoreSpec(const std::vector<TierSpec>& tiers);

}  // namespace forebay::model
