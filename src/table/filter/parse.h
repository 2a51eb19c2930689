// A filter's text as a tree, before anything is known of the table (docs/filters.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "table/filter/place.h"

namespace forebay::table::filter {

enum class Operator : uint8_t {
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  kIn,
  kNotIn,
  kIsNull,
  kIsNotNull,
  kIsNan,
  kIsNotNan,
  kStartsWith,
  kNotStartsWith,
};

struct Literal {
  enum class Kind : uint8_t { kNumber, kString, kBytes, kBoolean };
  Kind kind = Kind::kNumber;
  std::string text;  // unquoted; of bytes: the bytes; of a boolean: "true" or "false"
  Place place;
};

struct ColumnName {
  struct Part {
    std::string name;
    bool quoted = false;
  };
  std::vector<Part> parts;  // a.b: two
  Place place;
};

struct Expression {
  enum class Kind : uint8_t {
    kAnd,
    kOr,
    kNot,
    kConstant,   // value
    kColumn,     // a boolean column by itself
    kPredicate,  // column, op, literals
  };
  Kind kind = Kind::kConstant;
  std::vector<Expression> children{};
  bool value = true;
  ColumnName column{};
  Operator op = Operator::kEqual;
  std::vector<Literal> literals{};  // none, one, or a list's
};

struct Filter {
  static constexpr size_t kTextBytesMax = 64 * 1024;
  static constexpr int kDepthMax = 200;

  std::string text;
  Expression root;

  // kInvalid points at the place.
  static Result<Filter> Parse(std::string_view text);
};

}  // namespace forebay::table::filter
