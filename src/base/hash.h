// XXH3: the one hash of Forebay, for keys (128 bits) and checksums.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace forebay {

// 128 bits that name something by its content.
struct Hash128 {
  uint64_t high = 0;
  uint64_t low = 0;

  friend bool operator==(const Hash128&, const Hash128&) = default;
  friend auto operator<=>(const Hash128&, const Hash128&) = default;

  std::string ToHex() const;  // 32 lower-case digits
  static std::optional<Hash128> FromHex(std::string_view hex);
};

Hash128 HashBytes(std::string_view bytes, uint64_t seed = 0);

// The same as HashBytes over the concatenation of what was given to Update.
class Hasher {
 public:
  explicit Hasher(uint64_t seed = 0);
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  void Update(const void* data, size_t size);
  void Update(std::string_view bytes) { Update(bytes.data(), bytes.size()); }
  Hash128 Digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace forebay

template <>
struct std::hash<forebay::Hash128> {
  size_t operator()(const forebay::Hash128& h) const noexcept { return h.low; }
};
