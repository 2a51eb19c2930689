#include "model/store_spec.h"

#include <fmt/format.h>

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

Result<TierSpec> ParseTier(std::string_view text) {
  size_t colon = text.find(':');
  auto medium = ParseMedium(text.substr(0, colon));
  if (!medium) {
    return Status::Invalid(
        fmt::format("not a tier: '{}'; write a store like {}", text, kExample));
  }
  TierSpec tier{.medium = *medium, .path = {}, .quota_bytes = 0};
  std::string_view rest = colon == text.npos ? "" : text.substr(colon + 1);
  if (rest.starts_with('/') || rest.starts_with('.') || rest.starts_with('~')) {
    size_t end = rest.rfind(':');
    tier.path = std::string(rest.substr(0, end));
    rest = end == rest.npos ? "" : rest.substr(end + 1);
    if (tier.path.starts_with("~/")) {
      const char* home = std::getenv("HOME");
      tier.path = std::string(home != nullptr ? home : "") + tier.path.substr(1);
    }
    tier.path = std::filesystem::absolute(tier.path).lexically_normal().string();
    while (tier.path.size() > 1 && tier.path.ends_with('/')) tier.path.pop_back();
  }
  if (!rest.empty()) {
    FB_ASSIGN_OR_RETURN(tier.quota_bytes, ParseSize(rest));
  }
  if (tier.path.empty() && tier.medium != Medium::kMem) {
    return Status::Invalid(
        fmt::format("tier '{}' names no directory; write a store like {}", text, kExample));
  }
  if (tier.path.empty() && tier.quota_bytes == 0) {
    return Status::Invalid(
        fmt::format("tier '{}' needs a size; write a store like {}", text, kExample));
  }
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
        return Status::Invalid(fmt::format("the store names '{}' twice", tier.path));
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
    if (tier.quota_bytes != 0) out += fmt::format(":{}", tier.quota_bytes);
  }
  return out;
}

}  // namespace forebay::model
