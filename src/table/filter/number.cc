#include "table/filter/number.h"

#include <algorithm>

namespace forebay::table::filter {
namespace {

// More than any exponent that matters, and far from overflow.
constexpr int64_t kExponentMax = 1'000'000;
// 2^127 has 39 digits; all numbers of 38 digits fit.
constexpr int64_t kDigitsMax = 38;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Digits from `at` on, appended to `out`.
void TakeDigits(std::string_view text, size_t* at, std::string* out) {
  while (*at < text.size() && IsDigit(text[*at])) out->push_back(text[(*at)++]);
}

std::optional<int64_t> ParseExponent(std::string_view text) {
  if (text.empty()) return 0;
  if (text[0] != 'e' && text[0] != 'E') return std::nullopt;
  text.remove_prefix(1);
  bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || !std::ranges::all_of(text, IsDigit)) return std::nullopt;
  int64_t value = 0;
  for (char c : text) value = std::min(value * 10 + (c - '0'), kExponentMax);
  return negative ? -value : value;
}

}  // namespace

std::optional<Number> Number::Parse(std::string_view text) {
  Number number;
  size_t at = 0;
  number.negative = text.starts_with('-');
  if (number.negative || text.starts_with('+')) ++at;
  TakeDigits(text, &at, &number.digits);
  size_t whole = number.digits.size();
  if (at < text.size() && text[at] == '.') TakeDigits(text, &++at, &number.digits);
  if (number.digits.empty()) return std::nullopt;
  auto exponent = ParseExponent(text.substr(at));
  if (!exponent) return std::nullopt;
  number.exponent = *exponent - static_cast<int64_t>(number.digits.size() - whole);
  number.digits.erase(
      0, std::min(number.digits.find_first_not_of('0'), number.digits.size()));
  return number;
}

Floored FloorAt(const Number& number, int32_t scale) {
  if (number.digits.empty()) return {};
  int64_t shift = number.exponent + scale;
  auto size = static_cast<int64_t>(number.digits.size());
  if (size + shift > kDigitsMax)
    return {.exact = false, .overflow = number.negative ? -1 : 1};
  int64_t kept = std::max<int64_t>(std::min(size, size + shift), 0);
  Floored floored;
  for (int64_t i = 0; i < kept; ++i) {
    floored.value = floored.value * 10 + (number.digits[static_cast<size_t>(i)] - '0');
  }
  for (int64_t i = 0; i < shift; ++i) floored.value *= 10;
  auto rest = std::string_view(number.digits).substr(static_cast<size_t>(kept));
  floored.exact = std::ranges::all_of(rest, [](char c) { return c == '0'; });
  if (number.negative) floored.value = -floored.value - (floored.exact ? 0 : 1);
  return floored;
}

}  // namespace forebay::table::filter
