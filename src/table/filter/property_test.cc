// Random tables and filters: pruning never loses a row, never keeps a wrong one, and
// evaluation is exact.
#include <arrow/io/memory.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>
#include <parquet/file_reader.h>
#include <parquet/properties.h>

#include <cstring>
#include <map>

#include "table/filter/bind.h"
#include "table/filter/evaluate.h"
#include "table/filter/file_filter.h"
#include "table/filter/reference_batch.h"
#include "table/filter/reference_filter.h"
#include "table/filter/row_groups.h"
#include "table/iceberg/decimal.h"

namespace forebay::table::filter {
namespace {

using iceberg::DataFile;
using iceberg::PartitionSpec;
using iceberg::Transform;

struct Case {
  std::vector<TestColumn> columns = TestColumns();
  std::vector<TestRow> rows;
  TestExpression expression;
  std::optional<BoundFilter> filter;

  bool Keeps(const TestRow& row) const {
    return Reference(expression, columns, row) == Truth::kTrue;
  }
};

Case RandomCase(Random* random, int depth = 3) {
  Case c;
  c.rows = RandomRows(c.columns, random);
  c.expression = RandomExpression(c.columns, depth, random);
  auto parsed = Filter::Parse(c.expression.text);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  if (!parsed.ok()) return c;
  auto bound = Bind(*parsed, TestSchema(c.columns));
  EXPECT_TRUE(bound.ok()) << bound.status();
  if (bound.ok()) c.filter = *bound;
  return c;
}

TEST(Property, EvaluationKeepsTheRowsThatTheReferenceKeeps) {
  uint64_t kept = 0;
  uint64_t dropped = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    Random random(seed);
    Case c = RandomCase(&random);
    ASSERT_TRUE(c.filter) << "seed " << seed;
    auto batch = BatchOf(c.columns, c.rows);
    size_t skip = c.rows.empty() ? 0 : random.Below(c.rows.size());
    batch = batch->Slice(static_cast<int64_t>(skip));
    size_t offset = random.Below(130);
    model::LiveRows live{.row_count = offset + c.rows.size() + 70};
    Status applied = c.filter->Apply(*batch, offset, &live);
    ASSERT_TRUE(applied.ok()) << applied;
    for (uint64_t row = 0; row < live.row_count; ++row) {
      bool inside = row >= offset && row < offset + c.rows.size() - skip;
      bool expected = !inside || c.Keeps(c.rows[skip + row - offset]);
      ASSERT_EQ(live.Alive(row), expected)
          << "seed " << seed << " row " << row << ": " << c.expression.text
          << " bound as " << c.filter->ToString();
      if (inside) ++(expected ? kept : dropped);
    }
  }
  EXPECT_GT(kept, 10'000u);
  EXPECT_GT(dropped, 10'000u);
}

TEST(Property, SpellingsOfTheSameFilterHaveTheSameText) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    Case c = RandomCase(&random);
    ASSERT_TRUE(c.filter);
    std::string text = c.expression.text;
    for (const std::string& other :
         {"not (not (" + text + "))", "(" + text + ") and (" + text + ")",
          "(" + text + ") or false", "true and (" + text + ")"}) {
      auto bound = Bind(*Filter::Parse(other), TestSchema(c.columns));
      ASSERT_TRUE(bound.ok()) << bound.status();
      EXPECT_EQ(bound->ToString(), c.filter->ToString()) << other;
    }
  }
}

// --- Iceberg metadata ---------------------------------------------------------------

template <typename T>
std::string Little(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

// Single-value serialization; of columns promoted since the file was written at times
// the shorter form.
std::string EncodeBound(const Type& type, const Value& value, Random* random) {
  switch (type.id) {
    case TypeId::kBoolean: return std::get<bool>(value) ? "\1" : std::string(1, '\0');
    case TypeId::kInt:
    case TypeId::kDate: return Little(static_cast<int32_t>(std::get<int64_t>(value)));
    case TypeId::kFloat: return Little(static_cast<float>(std::get<double>(value)));
    case TypeId::kDouble: {
      double number = std::get<double>(value);
      auto narrow = static_cast<float>(number);
      bool fits = static_cast<double>(narrow) == number;
      return fits && random->OneIn(2) ? Little(narrow) : Little(number);
    }
    case TypeId::kDecimal: return iceberg::DecimalToBytes(std::get<Int128>(value));
    case TypeId::kLong: {
      auto number = std::get<int64_t>(value);
      bool fits = number == static_cast<int32_t>(number);
      return fits && random->OneIn(2) ? Little(static_cast<int32_t>(number))
                                      : Little(number);
    }
    case TypeId::kString:
    case TypeId::kBinary:
    case TypeId::kFixed:
    case TypeId::kUuid: return std::get<std::string>(value);
    default: return Little(std::get<int64_t>(value));
  }
}

bool IsNan(const Value& value) {
  auto* number = std::get_if<double>(&value);
  return number != nullptr && std::isnan(*number);
}

struct Range {
  std::optional<Value> lower, upper;
  int64_t nulls = 0;
  int64_t nans = 0;

  void Add(const Value& value) {
    if (iceberg::IsNull(value)) {
      ++nulls;
    } else if (IsNan(value)) {
      ++nans;
    } else {
      if (!lower || value < *lower) lower = value;
      if (!upper || value > *upper) upper = value;
    }
  }
};

// Cut to a character or two, as writers do.
std::optional<std::string> TruncatedUpper(const Type& type, const std::string& text) {
  bool cut =
      (type.id == TypeId::kString || type.id == TypeId::kBinary) && text.size() > 1;
  if (!cut || static_cast<uint8_t>(text[0]) >= 0x7F) return text;
  return std::string(1, static_cast<char>(text[0] + 1));
}

void AddMetrics(const TestColumn& column, const Range& range, DataFile* file,
                Random* random) {
  if (random->OneIn(6)) return;
  if (column.nested || random->OneIn(2)) {
    file->value_counts.emplace_back(column.id, file->record_count);
  }
  // Writers that leave rows without the struct out of their counts.
  bool odd_counts = column.nested && random->OneIn(2);
  if (odd_counts) {
    file->value_counts.back().second = file->record_count - range.nulls;
    file->null_counts.emplace_back(column.id, 0);
  } else if (!random->OneIn(4)) {
    file->null_counts.emplace_back(column.id, range.nulls);
  }
  if (std::holds_alternative<double>(column.pool[0]) && !random->OneIn(3)) {
    file->nan_counts.emplace_back(column.id, range.nans);
  }
  double nan = std::nan("");
  bool nan_bounds = range.nans > 0 && random->OneIn(3);
  if (range.lower && !random->OneIn(5)) {
    std::string bytes = EncodeBound(column.type, *range.lower, random);
    bool text = column.type.id == TypeId::kString || column.type.id == TypeId::kBinary;
    if (text && random->OneIn(2)) bytes = bytes.substr(0, 1);
    if (nan_bounds) bytes = EncodeBound(column.type, Value(nan), random);
    file->lower_bounds.emplace_back(column.id, bytes);
  }
  if (range.upper && !random->OneIn(5)) {
    std::string bytes = EncodeBound(column.type, *range.upper, random);
    if (random->OneIn(2)) bytes = *TruncatedUpper(column.type, bytes);
    if (nan_bounds) bytes = EncodeBound(column.type, Value(nan), random);
    file->upper_bounds.emplace_back(column.id, bytes);
  }
}

std::vector<Transform> TransformsOf(TypeId id) {
  auto parse = [](std::initializer_list<const char*> names) {
    std::vector<Transform> transforms;
    for (const char* name : names) transforms.push_back(Transform::Parse(name));
    return transforms;
  };
  switch (id) {
    case TypeId::kDate:
      return parse({"identity", "bucket[4]", "year", "month", "day", "void", "zorder"});
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
    case TypeId::kTimestampNs:
      return parse({"identity", "bucket[3]", "year", "month", "day", "hour"});
    case TypeId::kInt:
    case TypeId::kLong:
    case TypeId::kDecimal:
    case TypeId::kString:
    case TypeId::kBinary:
      return parse({"identity", "bucket[5]", "truncate[1]", "truncate[2]", "truncate[3]",
                    "truncate[10]", "void"});
    case TypeId::kUuid:
    case TypeId::kFixed:
    case TypeId::kTime: return parse({"identity", "bucket[2]"});
    default: return parse({"identity", "void"});
  }
}

bool IsTimePart(const Transform& transform) {
  return transform.kind >= iceberg::TransformKind::kYear &&
         transform.kind <= iceberg::TransformKind::kHour;
}

// `old_writer`: times before 1970 were once rounded towards it.
Value PartitionValue(const Transform& transform, const Type& type, const Value& value,
                     bool old_writer) {
  if (transform.kind == iceberg::TransformKind::kUnknown) return Value(int64_t{7});
  Value result = transform.Apply(type, value);
  if (old_writer && IsTimePart(transform) && !iceberg::IsNull(result)) {
    auto& number = std::get<int64_t>(result);
    if (number < 0) ++number;
  }
  return result;
}

struct Partitioned {
  PartitionSpec spec;
  std::vector<size_t> sources;  // columns
  std::vector<DataFile> files;
  std::vector<std::vector<const TestRow*>> rows;  // per file
};

Partitioned Partition(const Case& c, Random* random) {
  Partitioned out;
  out.spec.id = static_cast<int32_t>(random->Below(3));
  for (size_t i = 0; i < 1 + random->Below(2); ++i) {
    // Mostly columns that the filter asks for.
    const TestExpression* e = &c.expression;
    while (e->kind != TestExpression::Kind::kPredicate) e = &random->Pick(e->children);
    size_t source = random->OneIn(4) ? random->Below(c.columns.size()) : e->column;
    Transform transform = random->Pick(TransformsOf(c.columns[source].type.id));
    out.spec.fields.push_back(
        {c.columns[source].id, static_cast<int32_t>(1000 + i), "p", transform});
    out.sources.push_back(source);
  }
  bool old_writer = random->OneIn(4);
  // NaN has no place in a map's order: its text has.
  std::map<std::vector<std::string>, size_t> file_of;
  for (const TestRow& row : c.rows) {
    std::vector<Value> key;
    std::vector<std::string> text;
    for (size_t i = 0; i < out.sources.size(); ++i) {
      const Type& type = c.columns[out.sources[i]].type;
      key.push_back(PartitionValue(out.spec.fields[i].transform, type,
                                   row.values[out.sources[i]], old_writer));
      text.push_back(IsNan(key.back()) ? "nan" : iceberg::ToString({}, key.back()));
    }
    auto [found, is_new] = file_of.try_emplace(text, out.files.size());
    if (is_new) {
      out.files.emplace_back();
      out.files.back().spec_id = out.spec.id;
      out.files.back().partition = key;
      out.rows.emplace_back();
    }
    out.rows[found->second].push_back(&row);
  }
  for (size_t f = 0; f < out.files.size(); ++f) {
    out.files[f].record_count = static_cast<int64_t>(out.rows[f].size());
    bool no_metrics = random->OneIn(4);
    for (size_t i = 0; i < c.columns.size() && !no_metrics; ++i) {
      Range range;
      for (const TestRow* row : out.rows[f]) range.Add(row->values[i]);
      AddMetrics(c.columns[i], range, &out.files[f], random);
    }
  }
  return out;
}

iceberg::ManifestFile ManifestOf(const Case& c, const Partitioned& p, Random* random) {
  iceberg::ManifestFile manifest;
  manifest.spec_id = p.spec.id;
  if (random->OneIn(10)) return manifest;
  for (size_t i = 0; i < p.spec.fields.size(); ++i) {
    const Transform& transform = p.spec.fields[i].transform;
    Type type = transform.ResultType(c.columns[p.sources[i]].type);
    Range range;
    for (const DataFile& file : p.files) range.Add(file.partition[i]);
    iceberg::PartitionSummary summary;
    summary.contains_null = range.nulls > 0;
    if (random->OneIn(2)) summary.contains_nan = range.nans > 0;
    bool known = transform.kind != iceberg::TransformKind::kUnknown;
    if (range.lower && known)
      summary.lower_bound = EncodeBound(type, *range.lower, random);
    if (range.upper && known)
      summary.upper_bound = EncodeBound(type, *range.upper, random);
    manifest.partitions.push_back(summary);
  }
  return manifest;
}

size_t CountKept(const Case& c, const std::vector<const TestRow*>& rows) {
  size_t kept = 0;
  for (const TestRow* row : rows) kept += c.Keeps(*row) ? 1 : 0;
  return kept;
}

TEST(Property, PruningOfFilesLosesNoRowAndKeepsNoWrongOne) {
  std::map<Match, int> outcomes;
  int manifests_skipped = 0;
  int partitions_skipped = 0;
  for (uint64_t seed = 0; seed < 12'000; ++seed) {
    Random random(seed);
    Case c = RandomCase(&random, random.OneIn(2) ? 1 : 3);
    ASSERT_TRUE(c.filter) << "seed " << seed;
    Partitioned p = Partition(c, &random);
    IcebergFileFilter pruning(*c.filter, {p.spec});
    std::string what = "seed " + std::to_string(seed) + ": " + c.expression.text +
                       " by " + p.spec.fields[0].transform.ToString();
    size_t kept_of_all = 0;
    for (size_t f = 0; f < p.files.size(); ++f) {
      size_t kept = CountKept(c, p.rows[f]);
      kept_of_all += kept;
      Match match = pruning.Judge(p.files[f]);
      ++outcomes[match];
      if (match == Match::kNone) {
        ASSERT_EQ(kept, 0u) << what;
      }
      if (match == Match::kAll) {
        ASSERT_EQ(kept, p.rows[f].size()) << what;
      }
      EXPECT_EQ(pruning.MayMatch(p.files[f]), match != Match::kNone);
      EXPECT_EQ(pruning.MustMatch(p.files[f]), match == Match::kAll);
      if (!pruning.PartitionMayMatch(p.files[f])) {
        ++partitions_skipped;
        ASSERT_EQ(kept, 0u) << what;
      }
    }
    if (!p.files.empty() && !pruning.MayMatch(ManifestOf(c, p, &random))) {
      ++manifests_skipped;
      ASSERT_EQ(kept_of_all, 0u) << what;
    }
  }
  // The tests above mean something only if all of it happens.
  EXPECT_GT(outcomes[Match::kNone], 5'000);
  EXPECT_GT(outcomes[Match::kAll], 5'000);
  EXPECT_GT(outcomes[Match::kSome], 2'000);
  EXPECT_GT(manifests_skipped, 300);
  EXPECT_GT(partitions_skipped, 3'000);
}

// --- Parquet ------------------------------------------------------------------------

std::shared_ptr<arrow::Buffer> WriteParquet(const Case& c, Random* random) {
  auto batch = BatchOf(c.columns, c.rows);
  parquet::WriterProperties::Builder builder;
  builder.max_row_group_length(1 + static_cast<int64_t>(random->Below(30)));
  if (random->OneIn(3)) builder.disable_statistics();
  if (random->OneIn(2)) builder.enable_store_decimal_as_integer();
  for (const TestColumn& column : c.columns) {
    if (column.type.id == TypeId::kBoolean || random->OneIn(2)) continue;
    std::string path = "id" + std::to_string(column.id);
    builder.enable_bloom_filter(column.nested ? "id90." + path : path, {});
  }
  auto sink = *arrow::io::BufferOutputStream::Create();
  auto table = *arrow::Table::FromRecordBatches({batch});
  auto status = parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), sink,
                                           1 << 20, builder.build());
  EXPECT_TRUE(status.ok()) << status;
  return *sink->Finish();
}

TEST(Property, PruningOfRowGroupsLosesNoRowAndKeepsNoWrongOne) {
  std::map<Match, int> outcomes;
  int by_bloom = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    Random random(seed);
    Case c = RandomCase(&random, random.OneIn(2) ? 1 : 3);
    ASSERT_TRUE(c.filter) << "seed " << seed;
    auto bytes = WriteParquet(c, &random);
    auto reader = parquet::ParquetFileReader::Open(
        std::make_shared<arrow::io::BufferReader>(bytes));
    auto metadata = reader->metadata();
    RowGroupEvidence evidence{.metadata = metadata.get(),
                              .leaves = LeavesById(*c.filter, *metadata->schema())};
    RowGroupEvidence with_blooms = evidence;
    with_blooms.blooms = &reader->GetBloomFilterReader();
    size_t first = 0;
    for (int g = 0; g < metadata->num_row_groups(); ++g) {
      auto rows = static_cast<size_t>(metadata->RowGroup(g)->num_rows());
      size_t kept = 0;
      for (size_t r = first; r < first + rows; ++r) kept += c.Keeps(c.rows[r]) ? 1 : 0;
      first += rows;
      Match plain = MatchRowGroup(*c.filter, evidence, g);
      Match bloom = MatchRowGroup(*c.filter, with_blooms, g);
      for (Match match : {plain, bloom}) {
        ++outcomes[match];
        if (match == Match::kNone) {
          ASSERT_EQ(kept, 0u) << seed << c.expression.text;
        }
        if (match == Match::kAll) {
          ASSERT_EQ(kept, rows) << seed << c.expression.text;
        }
      }
      if (plain == Match::kSome && bloom == Match::kNone) ++by_bloom;
    }
  }
  EXPECT_GT(outcomes[Match::kNone], 300);
  EXPECT_GT(outcomes[Match::kAll], 300);
  EXPECT_GT(outcomes[Match::kSome], 300);
  EXPECT_GT(by_bloom, 50);
}

}  // namespace
}  // namespace forebay::table::filter
