#include "model/store_spec.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <optional>

#include "base/size.h"

namespace forebay::model {
namespace {

constexpr std::string_view kExample = "mem:4GiB,ssd:/var/cache/forebay:100GiB";

std::optional<Medium> ParseMedium(std::string_view name) {
  for (Medium medium : {Medium::kMem, Medium::kSsd, Medium::kHdd, Medium::kNfs}) {
    if (MediumName(medium) == name) return medium;
  }
  return std::nullopt;
}

Status Wrong(std::string_view tier, std::string_view why) {
  return Status::Invalid(
      fmt::format("tier '{}' {}; write a store like {}", tier, why, kExample));
}

// One spelling per directory: absolute, '~' resolved, no '/' at the end.
Result<std::string> Canonical(std::string_view directory) {
  std::string path(directory);
  if (path == "~" || path.starts_with("~/")) {
    const char* home = std::getenv("HOME");
    if (home == nullptr) return Status::Invalid("'~' stands for nothing: set HOME");
    path = home + path.substr(1);
  }
  std::error_code error;
  auto absolute = std::filesystem::absolute(path, error);
  if (error) return Status::Invalid(fmt::format("{}: {}", path, error.message()));
  path = absolute.lexically_normal().string();
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

// "50%"; nullopt: not a share.
std::optional<uint32_t> ParsePercent(std::string_view text) {
  uint32_t percent = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  bool is_share = error == std::errc() && end + 1 == text.data() + text.size() &&
                  *end == '%' && percent >= 1 && percent <= 100;
  return is_share ? std::optional(percent) : std::nullopt;
}

Status ParseQuota(std::string_view text, std::string_view quota, TierSpec* tier) {
  if (quota.ends_with('%')) {
    auto percent = ParsePercent(quota);
    if (!percent) return Wrong(text, "has no share from 1% to 100%");
    if (tier->path.empty()) return Wrong(text, "is memory, which takes a size");
    tier->quota_percent = *percent;
    return Status::OK();
  }
  auto bytes = ParseSize(quota);
  if (!bytes.ok()) return Wrong(text, "has no size: " + bytes.status().message());
  if (*bytes == 0) return Wrong(text, "has a size of zero");
  tier->quota_bytes = *bytes;
  return Status::OK();
}

Result<TierSpec> ParseTier(std::string_view text) {
  size_t colon = text.find(':');
  auto medium = ParseMedium(text.substr(0, colon));
  if (!medium) {
    return Status::Invalid(
        fmt::format("not a tier: '{}'; write a store like {}", text, kExample));
  }
  TierSpec tier{.medium = *medium, .path = {}};
  std::string_view rest = colon == text.npos ? "" : text.substr(colon + 1);
  if (rest.starts_with('/') || rest.starts_with('.') || rest.starts_with('~')) {
    size_t end = rest.rfind(':');
    FB_ASSIGN_OR_RETURN(tier.path, Canonical(rest.substr(0, end)));
    rest = end == rest.npos ? "" : rest.substr(end + 1);
  }
  if (!rest.empty()) FB_RETURN_NOT_OK(ParseQuota(text, rest, &tier));
  if (tier.path.empty() && tier.medium != Medium::kMem) {
    return Wrong(text, "names no directory");
  }
  if (tier.path.empty() && tier.quota_bytes == 0) return Wrong(text, "needs a size");
  return tier;
}

}  // namespace

std::string_view MediumName(Medium medium) {
  switch (medium) {
    case Medium::kMem: return "mem";
    case Medium::kSsd: return "ssd";
    case Medium::kHdd: return "hdd";
    case Medium::kNfs: return "nfs";
  }
  return "";
}

Result<std::vector<TierSpec>> ParseStoreSpec(std::string_view text) {
  std::vector<TierSpec> tiers;
  while (!text.empty()) {
    size_t comma = std::min(text.find(','), text.size());
    FB_ASSIGN_OR_RETURN(TierSpec tier, ParseTier(text.substr(0, comma)));
    for (const TierSpec& other : tiers) {
      if (other.path == tier.path) {
        return Status::Invalid(fmt::format("the store names '{}' twice",
                                           tier.path.empty() ? "mem" : tier.path));
      }
    }
    tiers.push_back(std::move(tier));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  if (tiers.empty()) {
    return Status::Invalid(fmt::format("the store is empty; write it like {}", kExample));
  }
  return tiers;
}

std::string FormatStoreSpec(const std::vector<TierSpec>& tiers) {
  std::string out;
  for (const TierSpec& tier : tiers) {
    if (!out.empty()) out += ',';
    out += MediumName(tier.medium);
    if (!tier.path.empty()) out += ":" + tier.path;
    if (tier.quota_bytes != 0) out += fmt::format(":{}B", tier.quota_bytes);
    if (tier.quota_percent != 0) out += fmt::format(":{}%", tier.quota_percent);
  }
  return out;
}

std::vector<std::string> StoreWarnings(const std::vector<TierSpec>& tiers,
                                       uint64_t memory_bytes) {
  std::vector<std::string> warnings;
  for (const TierSpec& tier : tiers) {
    if (tier.medium != Medium::kMem || tier.quota_bytes <= memory_bytes) continue;
    warnings.push_back(fmt::format(
        "the store has a memory tier of {}, and this machine has {} of memory; "
        "give it less, or what trains here will be killed for want of memory",
        FormatSize(tier.quota_bytes), FormatSize(memory_bytes)));
  }
  return warnings;
}

}  // namespace forebay::model
