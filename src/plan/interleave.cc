#include "plan/interleave.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <queue>

namespace forebay::plan {
namespace {

// A mark costs as much memory as there are sources, so it is made rarer with them.
constexpr uint64_t kStrideMin = 256;

Status CheckWeights(std::span<const double> weights) {
  if (weights.empty() || weights.size() > Interleave::kSourcesMax) {
    return Status::Invalid(fmt::format("A mixture has 1 to {} sources, not {}.",
                                       Interleave::kSourcesMax, weights.size()));
  }
  for (double weight : weights) {
    if (!(weight >= 0) || std::isinf(weight)) {
      return Status::Invalid(
          fmt::format("{} is no weight: give a number of 0 or more.", weight));
    }
  }
  if (std::ranges::all_of(weights, [](double w) { return w == 0; })) {
    return Status::Invalid("All weights are 0: give at least one source a weight.");
  }
  return Status::OK();
}

// The weights as whole numbers, where they are such or have few decimals.
std::optional<std::vector<uint64_t>> ExactShares(std::span<const double> weights) {
  constexpr double kNear = 1e-9;
  for (double scale = 1; scale <= 1e6; scale *= 10) {
    std::vector<uint64_t> shares;
    double total = 0;
    for (double weight : weights) {
      double scaled = weight * scale, whole = std::round(scaled);
      total += scaled;
      if (std::abs(scaled - whole) > kNear * std::max(1.0, whole) || total > 1e15) break;
      shares.push_back(static_cast<uint64_t>(whole));
    }
    if (shares.size() != weights.size()) continue;
    uint64_t divisor = 0, sum = 0;
    for (uint64_t share : shares) divisor = std::gcd(divisor, share);
    if (divisor == 0) continue;
    for (uint64_t& share : shares) sum += share /= divisor;
    if (sum <= Interleave::kPeriodMax) return shares;
  }
  return std::nullopt;
}

// To the nearest 1/kPeriodMax; a source with any weight has at least one slot.
std::vector<uint64_t> RoundedShares(std::span<const double> weights) {
  double largest = *std::ranges::max_element(weights);
  double total = 0;
  for (double weight : weights) total += weight / largest;
  auto room = static_cast<double>(Interleave::kPeriodMax - weights.size());
  std::vector<uint64_t> shares;
  for (double weight : weights) {
    double share = std::floor(weight / largest / total * room + 0.5);
    shares.push_back(weight == 0 ? 0
                                 : std::max<uint64_t>(1, static_cast<uint64_t>(share)));
  }
  return shares;
}

// The next slot a source asks for: its count-th, which it may have from slot `release`
// on.
struct Claim {
  uint64_t release;
  uint64_t count;
  uint64_t share;
  uint16_t source;
};

struct ReleasedLater {
  bool operator()(const Claim& a, const Claim& b) const { return a.release > b.release; }
};

// Due when the source would be a whole slot behind: at (count + 1) / share of a period.
struct DueLater {
  bool operator()(const Claim& a, const Claim& b) const {
    uint64_t due_a = (a.count + 1) * b.share, due_b = (b.count + 1) * a.share;
    return due_a != due_b ? due_a > due_b : a.source > b.source;
  }
};

}  // namespace

Result<Interleave> Interleave::Make(std::span<const double> weights) {
  FB_RETURN_NOT_OK(CheckWeights(weights));
  auto exact = ExactShares(weights);
  return Interleave(exact ? *std::move(exact) : RoundedShares(weights));
}

Interleave::Interleave(std::vector<uint64_t> shares) : shares_(std::move(shares)) {
  MakePattern(std::accumulate(shares_.begin(), shares_.end(), uint64_t{0}));
  MakeMarks();
}

void Interleave::MakePattern(uint64_t period) {
  std::priority_queue<Claim, std::vector<Claim>, ReleasedLater> waiting;
  std::priority_queue<Claim, std::vector<Claim>, DueLater> ready;
  for (size_t i = 0; i < shares_.size(); ++i) {
    if (shares_[i] > 0) ready.push({0, 0, shares_[i], static_cast<uint16_t>(i)});
  }
  pattern_.reserve(period);
  for (uint64_t slot = 0; slot < period; ++slot) {
    while (!waiting.empty() && waiting.top().release <= slot) {
      ready.push(waiting.top());
      waiting.pop();
    }
    FB_CHECK(!ready.empty());
    Claim claim = ready.top();
    ready.pop();
    pattern_.push_back(claim.source);
    ++claim.count;
    // May have another from the slot on before whose end less than `count` are its due.
    claim.release = claim.count * period / claim.share;
    waiting.push(claim);
  }
}

void Interleave::MakeMarks() {
  stride_ = std::max<uint64_t>(kStrideMin, shares_.size());
  std::vector<uint32_t> counts(shares_.size());
  for (uint64_t slot = 0; slot < period(); ++slot) {
    if (slot % stride_ == 0) marks_.insert(marks_.end(), counts.begin(), counts.end());
    ++counts[pattern_[slot]];
  }
}

std::vector<uint64_t> Interleave::CountsAt(uint64_t slot) const {
  uint64_t whole = slot / period(), rest = slot % period();
  uint64_t mark = rest / stride_;
  std::vector<uint64_t> counts(shares_.size());
  for (size_t i = 0; i < counts.size(); ++i) {
    counts[i] = whole * shares_[i] + marks_[mark * shares_.size() + i];
  }
  for (uint64_t at = mark * stride_; at < rest; ++at) ++counts[pattern_[at]];
  return counts;
}

uint64_t Interleave::SlotAfter(uint32_t source, uint64_t count) const {
  if (count == 0) return 0;
  uint64_t share = shares_[source];
  if (share == 0) return UINT64_MAX;
  uint64_t whole = (count - 1) / share, rest = count - whole * share;
  // The last mark with fewer than `rest`; the slot follows within a stride.
  uint64_t low = 0, high = marks_.size() / shares_.size();
  while (high - low > 1) {
    uint64_t middle = (low + high) / 2;
    (marks_[middle * shares_.size() + source] < rest ? low : high) = middle;
  }
  uint64_t had = marks_[low * shares_.size() + source], at = low * stride_;
  for (; had < rest; ++at) had += pattern_[at] == source;
  return whole * period() + at;
}

}  // namespace forebay::plan
