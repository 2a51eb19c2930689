#include "table/iceberg/decimal.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace forebay::table::iceberg {
namespace {

using Unsigned = unsigned __int128;

Unsigned PowerOfTen(int exponent) {
  Unsigned power = 1;
  while (exponent-- > 0) power *= 10;
  return power;
}

struct Digits {
  std::string text;  // without sign and point
  bool negative = false;
  int64_t scale = 0;  // how many of them stand after the point; negative: zeros to add
};

std::optional<Digits> SplitDecimal(std::string_view text) {
  Digits digits;
  size_t exponent = text.find_first_of("eE");
  if (exponent != text.npos) {
    std::string_view power = text.substr(exponent + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    int32_t value = 0;
    auto [end, error] = std::from_chars(power.data(), power.data() + power.size(), value);
    if (error != std::errc() || end != power.data() + power.size()) return std::nullopt;
    digits.scale = -static_cast<int64_t>(value);
    text = text.substr(0, exponent);
  }
  if (text.starts_with('-') || text.starts_with('+')) {
    digits.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  bool point = false;
  for (char c : text) {
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      digits.text += c;
      digits.scale += point ? 1 : 0;
    } else {
      return std::nullopt;
    }
  }
  if (digits.text.empty()) return std::nullopt;
  return digits;
}

}  // namespace

std::optional<Int128> DecimalFromBytes(std::string_view bytes) {
  if (bytes.empty()) return std::nullopt;
  char sign = static_cast<int8_t>(bytes[0]) < 0 ? '\xff' : '\0';
  while (bytes.size() > 16 && bytes[0] == sign &&
         (static_cast<int8_t>(bytes[1]) < 0) == (sign != 0)) {
    bytes.remove_prefix(1);
  }
  if (bytes.size() > 16) return std::nullopt;
  Unsigned value = sign != 0 ? ~Unsigned{0} : 0;
  for (char c : bytes) value = value << 8 | static_cast<uint8_t>(c);
  return static_cast<Int128>(value);
}

std::string DecimalToBytes(Int128 unscaled) {
  std::string bytes;
  auto value = static_cast<Unsigned>(unscaled);
  for (int shift = 120; shift >= 0; shift -= 8) {
    bytes += static_cast<char>(static_cast<uint8_t>(value >> shift));
  }
  size_t skip = 0;
  char sign = unscaled < 0 ? '\xff' : '\0';
  while (skip < 15 && bytes[skip] == sign &&
         (static_cast<int8_t>(bytes[skip + 1]) < 0) == (unscaled < 0)) {
    ++skip;
  }
  return bytes.substr(skip);
}

std::optional<Int128> ParseDecimal(std::string_view text, const Type& type) {
  auto digits = SplitDecimal(text);
  if (!digits) return std::nullopt;
  std::string& all = digits->text;
  // Zeros in front and behind may go, other digits may not.
  all.erase(0, std::min(all.find_first_not_of('0'), all.size() - 1));
  while (digits->scale > type.scale && all.size() > 1 && all.back() == '0') {
    all.pop_back();
    --digits->scale;
  }
  if (all == "0") return Int128{0};
  if (digits->scale > type.scale) return std::nullopt;
  int64_t zeros = type.scale - digits->scale;
  if (static_cast<int64_t>(all.size()) + zeros > type.precision) return std::nullopt;
  Unsigned value = 0;
  for (char c : all) value = value * 10 + static_cast<unsigned>(c - '0');
  value *= PowerOfTen(static_cast<int>(zeros));
  return digits->negative ? -static_cast<Int128>(value) : static_cast<Int128>(value);
}

std::string FormatDecimal(Int128 unscaled, int32_t scale) {
  Unsigned rest =
      unscaled < 0 ? -static_cast<Unsigned>(unscaled) : static_cast<Unsigned>(unscaled);
  std::string text;
  int32_t digits = 0;
  do {
    if (digits == scale && scale > 0) text += '.';
    text += static_cast<char>('0' + static_cast<int>(rest % 10));
    rest /= 10;
    ++digits;
  } while (rest != 0 || digits <= scale);
  if (unscaled < 0) text += '-';
  std::reverse(text.begin(), text.end());
  return text;
}

}  // namespace forebay::table::iceberg
