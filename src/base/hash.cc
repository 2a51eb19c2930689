#include "base/hash.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <charconv>

namespace forebay {

struct Hasher::State {
  XXH3_state_t xxh;
};

std::string Hash128::ToHex() const { return fmt::format("{:016x}{:016x}", high, low); }

std::optional<Hash128> Hash128::FromHex(std::string_view hex) {
  if (hex.size() != 32) return std::nullopt;
  Hash128 out;
  const char* middle = hex.data() + 16;
  auto high = std::from_chars(hex.data(), middle, out.high, 16);
  auto low = std::from_chars(middle, middle + 16, out.low, 16);
  if (high.ec != std::errc() || high.ptr != middle) return std::nullopt;
  if (low.ec != std::errc() || low.ptr != middle + 16) return std::nullopt;
  if (out.ToHex() != hex) return std::nullopt;  // upper case, signs
  return out;
}

Hash128 HashBytes(std::string_view bytes, uint64_t seed) {
  XXH128_hash_t h = XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed);
  return {h.high64, h.low64};
}

Hasher::Hasher(uint64_t seed) : state_(std::make_unique<State>()) {
  XXH3_INITSTATE(&state_->xxh);
  XXH3_128bits_reset_withSeed(&state_->xxh, seed);
}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::Update(const void* data, size_t size) {
  XXH3_128bits_update(&state_->xxh, data, size);
}

Hash128 Hasher::Digest() const {
  XXH128_hash_t h = XXH3_128bits_digest(&state_->xxh);
  return {h.high64, h.low64};
}

}  // namespace forebay
