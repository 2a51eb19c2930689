// What can be said of a filter's outcome when only summaries of columns are known.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "table/filter/bound_filter.h"
#include "table/iceberg/value.h"

namespace forebay::table::filter {

enum class Match : uint8_t {
  kNone,  // no row can match: skip
  kSome,  // rows have to be looked at
  kAll,   // every row matches
};

// What is known of a column's values in a set of rows. Nothing, at first.
struct ColumnFacts {
  bool may_be_null = true;
  bool may_be_nan = true;    // of columns that aren't float: means nothing
  bool may_be_value = true;  // neither null nor NaN
  // Around all values that are neither null nor NaN; they need not occur themselves.
  std::optional<iceberg::Value> lower{};
  std::optional<iceberg::Value> upper{};
  bool upper_excluded = false;

  // Both hold.
  void Intersect(const ColumnFacts& other);
};

Match Judge(const Predicate& predicate, const iceberg::Type& type,
            const ColumnFacts& facts);

// The tree's outcome from that of its predicates.
Match JudgeTree(const Node& node, const std::function<Match(const Predicate&)>& judge);

// The smallest string above all that begin with `prefix`; none where there is no such.
std::optional<std::string> PrefixEnd(std::string_view prefix);

}  // namespace forebay::table::filter
