#include "table/filter/match.h"

#include <algorithm>

namespace forebay::table::filter {
namespace {

using iceberg::Type;
using iceberg::TypeId;
using iceberg::Value;

Match Certain(bool outcome) { return outcome ? Match::kAll : Match::kNone; }

Match Opposite(Match match) {
  if (match == Match::kSome) return match;
  return Certain(match == Match::kNone);
}

// Values have the same alternative, and none is NaN: their own order is the type's.
class Interval {
 public:
  explicit Interval(const ColumnFacts& facts) : facts_(facts) {}

  bool Above(const Value& v) const { return facts_.lower && *facts_.lower > v; }
  bool AtLeast(const Value& v) const { return facts_.lower && *facts_.lower >= v; }
  bool AtMost(const Value& v) const { return facts_.upper && *facts_.upper <= v; }
  bool Below(const Value& v) const {
    if (facts_.upper_excluded) return AtMost(v);
    return facts_.upper && *facts_.upper < v;
  }
  bool Without(const Value& v) const { return Above(v) || Below(v); }
  bool Only(const Value& v) const { return AtLeast(v) && AtMost(v); }

 private:
  const ColumnFacts& facts_;
};

Match Decide(bool all, bool none) {
  if (all == none) return Match::kSome;
  return Certain(all);
}

Match JudgePrefix(const std::string& prefix, const Interval& interval) {
  Value begin(prefix);
  auto end = PrefixEnd(prefix);
  bool all = interval.AtLeast(begin) && (!end || interval.Below(Value(*end)));
  bool none = interval.Below(begin) || (end && interval.AtLeast(Value(*end)));
  return Decide(all, none);
}

Match JudgeList(const std::vector<Value>& values, const Interval& interval) {
  bool all = false;
  bool none = true;
  for (const Value& value : values) {
    all = all || interval.Only(value);
    none = none && interval.Without(value);
  }
  return Decide(all, none);
}

// Of values that are neither null nor NaN.
Match JudgeValues(const Predicate& predicate, const ColumnFacts& facts) {
  Interval interval(facts);
  static const Value kNoValue;
  const Value& v = predicate.values.empty() ? kNoValue : predicate.values.front();
  switch (predicate.op) {
    case Operator::kLess: return Decide(interval.Below(v), interval.AtLeast(v));
    case Operator::kLessEqual: return Decide(interval.AtMost(v), interval.Above(v));
    case Operator::kGreater: return Decide(interval.Above(v), interval.AtMost(v));
    case Operator::kGreaterEqual: return Decide(interval.AtLeast(v), interval.Below(v));
    case Operator::kEqual: return Decide(interval.Only(v), interval.Without(v));
    case Operator::kNotEqual: return Decide(interval.Without(v), interval.Only(v));
    case Operator::kIn: return JudgeList(predicate.values, interval);
    case Operator::kNotIn: return Opposite(JudgeList(predicate.values, interval));
    case Operator::kStartsWith: return JudgePrefix(std::get<std::string>(v), interval);
    case Operator::kNotStartsWith:
      return Opposite(JudgePrefix(std::get<std::string>(v), interval));
    case Operator::kIsNull:
    case Operator::kIsNan: return Match::kNone;
    case Operator::kIsNotNull:
    case Operator::kIsNotNan: return Match::kAll;
  }
  return Match::kSome;
}

bool NullMatches(Operator op) {
  return op == Operator::kIsNull || op == Operator::kIsNotNan;
}

bool NanMatches(Operator op) {
  switch (op) {
    case Operator::kGreater:
    case Operator::kGreaterEqual:
    case Operator::kNotEqual:
    case Operator::kNotIn:
    case Operator::kIsNotNull:
    case Operator::kIsNan: return true;
    default: return false;
  }
}

}  // namespace

void ColumnFacts::Intersect(const ColumnFacts& other) {
  may_be_null = may_be_null && other.may_be_null;
  may_be_nan = may_be_nan && other.may_be_nan;
  may_be_value = may_be_value && other.may_be_value;
  if (other.lower && (!lower || *other.lower > *lower)) lower = other.lower;
  if (!other.upper) return;
  bool tighter =
      !upper || *other.upper < *upper || (*other.upper == *upper && other.upper_excluded);
  if (tighter) {
    upper = other.upper;
    upper_excluded = other.upper_excluded;
  }
}

// Rows are null, NaN, or have another value: where all kinds that may be there agree,
// the outcome is certain. Facts that exclude every kind contradict each other.
Match Judge(const Predicate& predicate, const Type& type, const ColumnFacts& facts) {
  bool is_float = type.id == TypeId::kFloat || type.id == TypeId::kDouble;
  std::optional<Match> outcome;
  auto add = [&](Match match) {
    outcome = outcome && *outcome != match ? Match::kSome : match;
  };
  if (facts.may_be_null) add(Certain(NullMatches(predicate.op)));
  if (facts.may_be_nan && is_float) add(Certain(NanMatches(predicate.op)));
  if (facts.may_be_value) add(JudgeValues(predicate, facts));
  return outcome.value_or(Match::kSome);
}

Match JudgeTree(const Node& node, const std::function<Match(const Predicate&)>& judge) {
  switch (node.kind) {
    case Node::Kind::kTrue: return Match::kAll;
    case Node::Kind::kFalse: return Match::kNone;
    case Node::Kind::kPredicate: return judge(node.predicate);
    default: break;
  }
  bool is_and = node.kind == Node::Kind::kAnd;
  Match outcome = is_and ? Match::kAll : Match::kNone;
  for (const Node& child : node.children) {
    Match match = JudgeTree(child, judge);
    outcome = is_and ? std::min(outcome, match) : std::max(outcome, match);
    if (outcome == (is_and ? Match::kNone : Match::kAll)) break;
  }
  return outcome;
}

std::optional<std::string> PrefixEnd(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xFF) end.pop_back();
  if (end.empty()) return std::nullopt;
  end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return end;
}

}  // namespace forebay::table::filter
