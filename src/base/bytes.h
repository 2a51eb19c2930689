// Little-endian encoding of small messages and tables: fixed integers, length-prefixed
// strings. Decoding is bounded: a Decoder never reads past its span and remembers the
// first failure, so callers check once at the end.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/status.h"

namespace forebay {

static_assert(std::endian::native == std::endian::little);

class Encoder {
 public:
  template <typename T>
    requires std::is_arithmetic_v<T>
  void Put(T value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  void PutString(std::string_view s) {
    Put<uint32_t>(static_cast<uint32_t>(s.size()));
    out_.append(s);
  }
  const std::string& bytes() const { return out_; }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
    requires std::is_arithmetic_v<T>
  T Get() {
    T value{};
    if (!Has(sizeof(T))) return value;
    std::memcpy(&value, rest_.data(), sizeof(T));
    rest_.remove_prefix(sizeof(T));
    return value;
  }
  std::string GetString() { return std::string(GetView()); }
  std::string_view GetView() {
    auto size = Get<uint32_t>();
    if (!Has(size)) return {};
    std::string_view s = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return s;
  }
  // A count of items of at least `item_bytes` each; 0 when more are claimed than fit.
  uint32_t GetCount(size_t item_bytes) {
    auto count = Get<uint32_t>();
    return Has(count * item_bytes) ? count : 0;
  }

  bool ok() const { return ok_; }
  bool done() const { return ok_ && rest_.empty(); }
  Status Finish(std::string_view what) const {
    if (done()) return Status::OK();
    return Status::Corrupt(std::string(what) + " is malformed");
  }

 private:
  bool Has(size_t n) {
    if (rest_.size() < n) {
      ok_ = false;
      rest_ = {};
    }
    return ok_;
  }
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace forebay
