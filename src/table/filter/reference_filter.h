// For tests: random tables and filters, and an evaluator that is slow and plain.
#pragma once

#include <arrow/api.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "table/filter/parse.h"
#include "table/iceberg/calendar.h"
#include "table/iceberg/types.h"
#include "table/iceberg/value.h"

namespace forebay::table::filter {

using iceberg::Int128;
using iceberg::Type;
using iceberg::TypeId;
using iceberg::Value;

struct TestColumn {
  int32_t id;
  std::string name;  // as filters write it
  Type type;
  std::vector<Value> pool;
  std::shared_ptr<arrow::DataType> arrow_type;
  bool nested = false;  // in the struct of id 90
};

// A value per test column; null where it or its struct is.
struct TestRow {
  std::vector<Value> values;
  bool struct_null = false;
};

inline std::vector<Value> Ints(std::initializer_list<int64_t> values) {
  return {values.begin(), values.end()};
}

inline std::vector<TestColumn> NumberColumns() {
  double inf = std::numeric_limits<double>::infinity();
  double nan = std::nan("");
  int64_t min32 = std::numeric_limits<int32_t>::min();
  int64_t max32 = std::numeric_limits<int32_t>::max();
  int64_t min64 = std::numeric_limits<int64_t>::min();
  int64_t max64 = std::numeric_limits<int64_t>::max();
  Type integer{.id = TypeId::kInt};
  Type decimal{.id = TypeId::kDecimal, .precision = 9, .scale = 2};
  std::vector<Value> ints = Ints({0, 1, -1, 7, 10, -10, min32, max32});
  std::vector<Value> longs = Ints({0, 1, -1, 99, min32 - 1, min64, max64});
  std::vector<Value> floats{nan, inf, -inf, 0.0, -0.0, 1.5, -2.25, 1e10};
  std::vector<Value> decimals;
  for (int i : {0, 1, -150, 150, 999'999'999}) decimals.emplace_back(Int128{i});
  return {
      {1, "i", integer, ints, arrow::int32()},
      {2, "l", {.id = TypeId::kLong}, longs, arrow::int64()},
      {3, "f", {.id = TypeId::kFloat}, floats, arrow::float32()},
      {4, "d", {.id = TypeId::kDouble}, floats, arrow::float64()},
      {5, "dec", decimal, decimals, arrow::decimal128(9, 2)},
      {91, "info.n", integer, Ints({0, 1, 2, -5}), arrow::int32(), true},
  };
}

inline std::vector<TestColumn> TimeColumns() {
  int64_t hour = 3'600'000'000;
  std::vector<Value> days = Ints({0, -1, 1, 31, -400, 20000, 20001});
  std::vector<Value> times = Ints({0, 1, hour, 23 * hour + 999'999});
  std::vector<Value> moments = Ints({0, -1, 1, 5 * hour, -5 * hour - 7, 40 * 24 * hour,
                                     -400 * 24 * hour, 20'000 * 24 * hour + 123'456});
  auto micros = arrow::TimeUnit::MICRO;
  auto nanos = arrow::TimeUnit::NANO;
  return {
      {6, "day", {.id = TypeId::kDate}, days, arrow::date32()},
      {7, "\"time\"", {.id = TypeId::kTime}, times, arrow::time64(micros)},
      {8, "ts", {.id = TypeId::kTimestamp}, moments, arrow::timestamp(micros)},
      {9,
       "`ts tz`",
       {.id = TypeId::kTimestampTz},
       moments,
       arrow::timestamp(micros, "UTC")},
      {10, "ns", {.id = TypeId::kTimestampNs}, moments, arrow::timestamp(nanos)},
  };
}

inline std::vector<TestColumn> TextColumns() {
  std::vector<Value> texts;
  for (const char* text : {"", "a", "ab", "abc", "abd", "b", "\xc3\xa9t\xc3\xa9",
                           "\xf0\x9f\x98\x80!", "it's"}) {
    texts.emplace_back(std::string(text));
  }
  std::vector<Value> bytes{Value(std::string("\0x", 2))};
  for (const char* text : {"", "\xff", "\xff\xff", "ab", "abc", "b"}) {
    bytes.emplace_back(std::string(text));
  }
  std::vector<Value> fours;
  for (const char* text : {"abcd", "\xff\xff\xff\xff", "abce", "zzzz"}) {
    fours.emplace_back(std::string(text));
  }
  std::vector<Value> uuids;
  for (char c : {'\0', 'a', '\xff'}) uuids.emplace_back(std::string(16, c));
  std::vector<Value> flags{Value(true), Value(false)};
  Type fixed{.id = TypeId::kFixed, .length = 4};
  return {
      {11, "s", {.id = TypeId::kString}, texts, arrow::utf8()},
      {12, "bin", {.id = TypeId::kBinary}, bytes, arrow::binary()},
      {13, "fix", fixed, fours, arrow::fixed_size_binary(4)},
      {14, "u", {.id = TypeId::kUuid}, uuids, arrow::fixed_size_binary(16)},
      {15, "flag", {.id = TypeId::kBoolean}, flags, arrow::boolean()},
      {92, "info.\"the name\"", {.id = TypeId::kString}, texts, arrow::utf8(), true},
  };
}

inline std::vector<TestColumn> TestColumns() {
  std::vector<TestColumn> columns = NumberColumns();
  for (const TestColumn& column : TimeColumns()) columns.push_back(column);
  for (const TestColumn& column : TextColumns()) columns.push_back(column);
  return columns;
}

inline std::string PlainName(const TestColumn& column) {
  std::string name = column.name;
  if (column.nested) name.erase(0, 5);
  std::erase_if(name, [](char c) { return c == '"' || c == '`'; });
  return name;
}

inline iceberg::Schema TestSchema(const std::vector<TestColumn>& columns) {
  iceberg::Schema schema;
  iceberg::Field info;
  info.id = 90;
  info.name = "info";
  info.type.id = TypeId::kStruct;
  for (const TestColumn& column : columns) {
    iceberg::Field field;
    field.id = column.id;
    field.name = PlainName(column);
    field.type = column.type;
    (column.nested ? info.type.fields : schema.fields).push_back(field);
  }
  schema.fields.push_back(info);
  return schema;
}

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  size_t Below(size_t n) {
    return std::uniform_int_distribution<size_t>(0, n - 1)(engine_);
  }
  bool OneIn(size_t n) { return Below(n) == 0; }
  template <typename T>
  const T& Pick(const std::vector<T>& from) {
    return from[Below(from.size())];
  }

 private:
  std::mt19937_64 engine_;
};

// Some tables have few different values, so that bounds get narrow.
inline std::vector<TestRow> RandomRows(const std::vector<TestColumn>& columns,
                                       Random* random) {
  std::vector<std::vector<Value>> pools;
  for (const TestColumn& column : columns) {
    std::vector<Value> pool;
    size_t size = 1 + random->Below(4);
    for (size_t i = 0; i < size; ++i) pool.push_back(random->Pick(column.pool));
    if (random->OneIn(2)) pool.emplace_back();
    if (random->OneIn(10)) pool = std::vector<Value>(1);
    pools.push_back(std::move(pool));
  }
  std::vector<TestRow> rows(random->Below(100));
  for (TestRow& row : rows) {
    row.struct_null = random->OneIn(5);
    for (size_t c = 0; c < columns.size(); ++c) {
      bool null = columns[c].nested && row.struct_null;
      if (null) {
        row.values.emplace_back();
      } else {
        row.values.push_back(random->Pick(pools[c]));
      }
    }
  }
  return rows;
}

// A literal: its text, and its value in tenths of the type's unit where it is a number.
struct TestLiteral {
  std::string text;
  Value value;
  Int128 tenths = 0;
};

struct TestExpression {
  enum class Kind { kAnd, kOr, kNot, kPredicate };
  Kind kind = Kind::kPredicate;
  std::vector<TestExpression> children{};
  size_t column = 0;
  Operator op = Operator::kIsNull;
  std::vector<TestLiteral> literals{};
  std::string text{};
};

inline bool CountsInTenths(const Type& type) {
  return type.id != TypeId::kFloat && type.id != TypeId::kDouble &&
         type.id != TypeId::kBoolean && type.id < TypeId::kString;
}

inline std::string DecimalText(Int128 unscaled, int32_t scale) {
  bool negative = unscaled < 0;
  std::string digits;
  for (Int128 rest = negative ? -unscaled : unscaled; rest > 0; rest /= 10) {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
  }
  while (digits.size() <= static_cast<size_t>(scale)) digits.insert(0, "0");
  digits.insert(digits.size() - static_cast<size_t>(scale), ".");
  return (negative ? "-" : "") + digits;
}

inline std::string Quoted(const std::string& text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? "''" : std::string(1, c);
  return out + "'";
}

inline std::string BytesText(const std::string& bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "X'";
  for (char c : bytes) {
    out += kHex[static_cast<uint8_t>(c) / 16];
    out += kHex[static_cast<uint8_t>(c) % 16];
  }
  return out + "'";
}

inline TestLiteral NumberLiteral(const TestColumn& column, Random* random) {
  Int128 base = column.type.id == TypeId::kDecimal
                    ? std::get<Int128>(random->Pick(column.pool))
                    : Int128{std::get<int64_t>(random->Pick(column.pool))};
  if (random->OneIn(20)) base *= 1000;
  TestLiteral literal{.text = "", .value = Value(), .tenths = base * 10};
  literal.tenths += static_cast<int>(random->Below(3) == 0 ? random->Below(30) : 0);
  literal.text = DecimalText(literal.tenths, column.type.scale + 1);
  return literal;
}

inline TestLiteral TimeLiteral(const TestColumn& column, Random* random) {
  int64_t value = std::get<int64_t>(random->Pick(column.pool));
  bool between = column.type.id != TypeId::kDate &&
                 column.type.id != TypeId::kTimestampNs && random->OneIn(4);
  TestLiteral literal{.text = "", .value = Value(), .tenths = Int128{value} * 10};
  if (between) literal.tenths += 5;
  int64_t nanos = value * 1000 + (between ? 500 : 0);
  if (column.type.id == TypeId::kDate) {
    literal.text = iceberg::FormatDate(value);
  } else if (column.type.id == TypeId::kTime) {
    literal.text = iceberg::FormatTime(nanos, 1'000'000'000);
  } else if (column.type.id == TypeId::kTimestampNs) {
    literal.text = iceberg::FormatTimestamp(value, 1'000'000'000);
  } else {
    literal.text = iceberg::FormatTimestamp(nanos, 1'000'000'000);
    if (column.type.id == TypeId::kTimestampTz && random->OneIn(2)) literal.text += "Z";
  }
  literal.text = Quoted(literal.text);
  return literal;
}

inline TestLiteral RandomLiteral(const TestColumn& column, Random* random) {
  switch (column.type.id) {
    case TypeId::kInt:
    case TypeId::kLong:
    case TypeId::kDecimal: return NumberLiteral(column, random);
    case TypeId::kDate:
    case TypeId::kTime:
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
    case TypeId::kTimestampNs: return TimeLiteral(column, random);
    default: break;
  }
  TestLiteral literal{.text = "", .value = random->Pick(column.pool)};
  if (auto* flag = std::get_if<bool>(&literal.value)) {
    literal.text = *flag ? "true" : "FALSE";
  } else if (auto* number = std::get_if<double>(&literal.value)) {
    if (std::isnan(*number)) {
      literal.text = "'NaN'";
    } else if (std::isinf(*number)) {
      literal.text = *number > 0 ? "'inf'" : "'-Infinity'";
    } else {
      literal.text = std::to_string(*number);
    }
  } else {
    const auto& text = std::get<std::string>(literal.value);
    literal.text = column.type.id == TypeId::kString ? Quoted(text) : BytesText(text);
  }
  return literal;
}

inline std::string ComparisonText(Operator op) {
  switch (op) {
    case Operator::kLess: return "<";
    case Operator::kLessEqual: return "<=";
    case Operator::kGreater: return ">";
    case Operator::kGreaterEqual: return ">=";
    case Operator::kEqual: return "=";
    default: return "<>";
  }
}

inline void AddComparison(const TestColumn& column, TestExpression* out, Random* random) {
  out->op = static_cast<Operator>(random->Below(6));
  out->literals = {RandomLiteral(column, random)};
  constexpr Operator kMirror[] = {Operator::kGreater, Operator::kGreaterEqual,
                                  Operator::kLess,    Operator::kLessEqual,
                                  Operator::kEqual,   Operator::kNotEqual};
  out->text = column.name + " " + ComparisonText(out->op) + out->literals[0].text;
  if (random->OneIn(4)) {
    Operator mirrored = kMirror[static_cast<size_t>(out->op)];
    out->text = out->literals[0].text + ComparisonText(mirrored) + column.name;
  }
}

inline void AddList(const TestColumn& column, TestExpression* out, Random* random) {
  bool negated = random->OneIn(2);
  out->op = negated ? Operator::kNotIn : Operator::kIn;
  out->text = column.name + (negated ? " NOT in (" : " In (");
  // Beyond eight values lists are searched in another way.
  size_t count = random->OneIn(3) ? 9 + random->Below(8) : 1 + random->Below(4);
  for (size_t i = 0; i < count; ++i) {
    out->literals.push_back(RandomLiteral(column, random));
    out->text += (i == 0 ? "" : ", ") + out->literals.back().text;
  }
  out->text += ")";
}

inline void AddPrefix(const TestColumn& column, TestExpression* out, Random* random) {
  bool negated = random->OneIn(2);
  out->op = negated ? Operator::kNotStartsWith : Operator::kStartsWith;
  auto text = std::get<std::string>(random->Pick(column.pool));
  // Whole characters only: a filter is text.
  size_t size = random->Below(text.size() + 1);
  while (size < text.size() && (static_cast<uint8_t>(text[size]) & 0xC0) == 0x80) ++size;
  out->literals = {{.text = "", .value = Value(text.substr(0, size))}};
  out->text = column.name + (negated ? " not like " : " like ") +
              Quoted(text.substr(0, size) + "%");
}

inline TestExpression RandomPredicate(const std::vector<TestColumn>& columns,
                                      Random* random) {
  TestExpression out;
  out.column = random->Below(columns.size());
  const TestColumn& column = columns[out.column];
  bool is_float = column.type.id == TypeId::kFloat || column.type.id == TypeId::kDouble;
  size_t choice = random->Below(10);
  if (choice < 2) {
    out.op = choice == 0 ? Operator::kIsNull : Operator::kIsNotNull;
    out.text = column.name + (choice == 0 ? " is null" : " IS NOT NULL");
  } else if (choice == 2 && is_float) {
    bool negated = random->OneIn(2);
    out.op = negated ? Operator::kIsNotNan : Operator::kIsNan;
    out.text = column.name + (negated ? " is not nan" : " is NaN");
  } else if (choice < 5 && column.type.id == TypeId::kString) {
    AddPrefix(column, &out, random);
  } else if (choice < 7) {
    AddList(column, &out, random);
  } else {
    AddComparison(column, &out, random);
  }
  return out;
}

inline TestExpression RandomExpression(const std::vector<TestColumn>& columns, int depth,
                                       Random* random) {
  using Kind = TestExpression::Kind;
  size_t choice = depth == 0 ? 0 : random->Below(6);
  if (choice < 3) return RandomPredicate(columns, random);
  TestExpression out;
  if (choice == 3) {
    out.kind = Kind::kNot;
    out.children.push_back(RandomExpression(columns, depth - 1, random));
    out.text = "not (" + out.children[0].text + ")";
    return out;
  }
  out.kind = choice == 4 ? Kind::kAnd : Kind::kOr;
  for (size_t i = 0; i < 2 + random->Below(2); ++i) {
    out.children.push_back(RandomExpression(columns, depth - 1, random));
    if (i > 0) out.text += choice == 4 ? " and " : " OR ";
    out.text += "(" + out.children.back().text + ")";
  }
  return out;
}

// -1, 0, 1: below, equal, above; NaN is above everything and equals itself.
inline int ReferenceOrder(const Type& type, const Value& x, const TestLiteral& literal) {
  auto order = [](const auto& a, const auto& b) { return a < b ? -1 : b < a ? 1 : 0; };
  if (CountsInTenths(type)) {
    Int128 unscaled =
        type.id == TypeId::kDecimal ? std::get<Int128>(x) : Int128{std::get<int64_t>(x)};
    return order(unscaled * 10, literal.tenths);
  }
  if (auto* number = std::get_if<double>(&x)) {
    double other = std::get<double>(literal.value);
    if (std::isnan(*number) || std::isnan(other)) {
      return order(std::isnan(*number), std::isnan(other));
    }
    return order(*number, other);
  }
  return order(x, literal.value);
}

enum class Truth { kFalse, kUnknown, kTrue };

inline Truth Of(bool value) { return value ? Truth::kTrue : Truth::kFalse; }

inline Truth ReferencePredicate(const TestExpression& e, const Type& type,
                                const Value& x) {
  bool null = iceberg::IsNull(x);
  auto* number = std::get_if<double>(&x);
  bool nan = number != nullptr && std::isnan(*number);
  switch (e.op) {
    case Operator::kIsNull: return Of(null);
    case Operator::kIsNotNull: return Of(!null);
    case Operator::kIsNan: return Of(nan);
    case Operator::kIsNotNan: return Of(!nan);
    default: break;
  }
  if (null) return Truth::kUnknown;
  if (e.op == Operator::kStartsWith || e.op == Operator::kNotStartsWith) {
    bool starts =
        std::get<std::string>(x).starts_with(std::get<std::string>(e.literals[0].value));
    return Of(starts == (e.op == Operator::kStartsWith));
  }
  if (e.op == Operator::kIn || e.op == Operator::kNotIn) {
    bool found = false;
    for (const auto& literal : e.literals) found |= ReferenceOrder(type, x, literal) == 0;
    return Of(found == (e.op == Operator::kIn));
  }
  int order = ReferenceOrder(type, x, e.literals[0]);
  switch (e.op) {
    case Operator::kLess: return Of(order < 0);
    case Operator::kLessEqual: return Of(order <= 0);
    case Operator::kGreater: return Of(order > 0);
    case Operator::kGreaterEqual: return Of(order >= 0);
    case Operator::kEqual: return Of(order == 0);
    default: return Of(order != 0);
  }
}

inline Truth Reference(const TestExpression& e, const std::vector<TestColumn>& columns,
                       const TestRow& row) {
  using Kind = TestExpression::Kind;
  if (e.kind == Kind::kPredicate) {
    return ReferencePredicate(e, columns[e.column].type, row.values[e.column]);
  }
  if (e.kind == Kind::kNot) {
    Truth inner = Reference(e.children[0], columns, row);
    if (inner == Truth::kUnknown) return inner;
    return Of(inner == Truth::kFalse);
  }
  Truth truth = e.kind == Kind::kAnd ? Truth::kTrue : Truth::kFalse;
  for (const TestExpression& child : e.children) {
    Truth next = Reference(child, columns, row);
    truth = e.kind == Kind::kAnd ? std::min(truth, next) : std::max(truth, next);
  }
  return truth;
}

}  // namespace forebay::table::filter
