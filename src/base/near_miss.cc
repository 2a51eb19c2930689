#include "base/near_miss.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

namespace forebay {
namespace {

// Beyond this no name of ours goes, and a guess would cost quadratic time.
constexpr size_t kNameBytesMax = 128;

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return lower;
}

// Insertions, deletions, replacements and swaps of neighbours that make `a` into `b`.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replaced});
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string_view NearMiss(std::string_view given,
                          std::span<const std::string_view> known) {
  if (given.empty() || given.size() > kNameBytesMax) return {};
  std::string lower = Lower(given);
  size_t best_distance = std::max<size_t>(1, given.size() / 3) + 1;
  std::string_view best;
  for (std::string_view name : known) {
    if (name.size() > kNameBytesMax) continue;
    size_t distance = EditDistance(lower, Lower(name));
    // A name of one or two letters is as close to any other.
    if (distance >= best_distance || distance >= name.size()) continue;
    best_distance = distance;
    best = name;
  }
  return best;
}

std::string DidYouMean(std::string_view given, std::span<const std::string_view> known) {
  std::string_view meant = NearMiss(given, known);
  return meant.empty() ? "" : fmt::format("; did you mean {}?", meant);
}

}  // namespace forebay
