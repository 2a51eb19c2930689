#include "table/filter/file_filter.h"

#include <algorithm>
#include <functional>
#include <set>

#include "table/filter/partition_facts.h"

namespace forebay::table::filter {
namespace {

using iceberg::DataFile;
using iceberg::TransformKind;
using iceberg::Value;

template <typename T>
const T* Find(const iceberg::ById<T>& values, int32_t id) {
  auto found = std::ranges::lower_bound(values, id, {},
                                        [](const auto& entry) { return entry.first; });
  return found != values.end() && found->first == id ? &found->second : nullptr;
}

std::optional<Value> Bound(const iceberg::Type& type, const std::string* bytes) {
  if (bytes == nullptr || !type.primitive()) return std::nullopt;
  auto value = iceberg::DecodeValue(type, *bytes);
  if (!value.ok() || !IsBound(type, *value)) return std::nullopt;
  return *std::move(value);
}

// Counts of columns in structs cover all rows only where the writer counts the rows
// without the struct too.
bool CountsCoverRows(const Column& column, const DataFile& file) {
  const int64_t* values = Find(file.value_counts, column.id);
  if (values == nullptr) return !column.nested();
  return *values == file.record_count;
}

ColumnFacts FactsOfMetrics(const Column& column, const DataFile& file) {
  ColumnFacts facts;
  facts.lower = Bound(column.type, Find(file.lower_bounds, column.id));
  facts.upper = Bound(column.type, Find(file.upper_bounds, column.id));
  if (file.record_count <= 0 || !CountsCoverRows(column, file)) return facts;
  const int64_t* nulls = Find(file.null_counts, column.id);
  const int64_t* nans = Find(file.nan_counts, column.id);
  if (nulls != nullptr) {
    facts.may_be_null = *nulls != 0;
    facts.may_be_value = *nulls != file.record_count;
    facts.may_be_nan = facts.may_be_value;
  }
  if (nans != nullptr) {
    facts.may_be_nan = facts.may_be_nan && *nans != 0;
    if (*nans == file.record_count) facts.may_be_value = facts.may_be_null = false;
    // All rows are one or the other.
    if (nulls != nullptr && *nulls + *nans == file.record_count) {
      facts.may_be_value = false;
    }
  }
  return facts;
}

void ForEachPredicate(const Node& node,
                      const std::function<void(const Predicate&)>& visit) {
  if (node.kind == Node::Kind::kPredicate) visit(node.predicate);
  for (const Node& child : node.children) ForEachPredicate(child, visit);
}

bool AsksForValues(const Predicate& predicate) {
  return predicate.op == Operator::kEqual || predicate.op == Operator::kIn;
}

// True when one of the buckets is in [lower, upper].
bool AnyWithin(const std::vector<int64_t>& sorted, int64_t lower, int64_t upper) {
  auto found = std::ranges::lower_bound(sorted, lower);
  return found != sorted.end() && *found <= upper;
}

}  // namespace

IcebergFileFilter::IcebergFileFilter(BoundFilter filter,
                                     const std::vector<iceberg::PartitionSpec>& specs)
    : filter_(std::move(filter)) {
  for (const auto& spec : specs) AddUses(spec);
}

void IcebergFileFilter::AddUses(const iceberg::PartitionSpec& spec) {
  Uses uses;
  for (uint32_t i = 0; i < spec.fields.size(); ++i) {
    for (uint32_t c = 0; c < filter_.columns().size(); ++c) {
      if (filter_.columns()[c].id != spec.fields[i].source_id) continue;
      Use use{.position = i, .column = c, .transform = spec.fields[i].transform};
      if (use.transform.kind == TransformKind::kBucket && use.transform.width > 0) {
        ForEachPredicate(filter_.root(), [&](const Predicate& predicate) {
          AddBuckets(predicate, &use);
        });
      }
      uses.push_back(std::move(use));
    }
  }
  uses_[spec.id] = std::move(uses);
}

void IcebergFileFilter::AddBuckets(const Predicate& predicate, Use* use) const {
  if (predicate.column != use->column || !AsksForValues(predicate)) return;
  std::set<int64_t> buckets;
  for (const Value& value : predicate.values) {
    Value bucket = use->transform.Apply(filter_.columns()[predicate.column].type, value);
    auto* number = std::get_if<int64_t>(&bucket);
    if (number == nullptr) return;
    buckets.insert(*number);
  }
  use->buckets[&predicate] = {buckets.begin(), buckets.end()};
}

const IcebergFileFilter::Uses* IcebergFileFilter::FindUses(int32_t spec_id) const {
  auto found = uses_.find(spec_id);
  return found == uses_.end() ? nullptr : &found->second;
}

bool IcebergFileFilter::MayMatch(const iceberg::ManifestFile& manifest) const {
  const Uses* uses = FindUses(manifest.spec_id);
  Evidence evidence(filter_.columns().size());
  for (size_t i = 0; uses != nullptr && i < uses->size(); ++i) {
    const Use& use = (*uses)[i];
    if (use.position >= manifest.partitions.size()) continue;
    const iceberg::PartitionSummary& summary = manifest.partitions[use.position];
    PartitionSource source{use.transform, &filter_.columns()[use.column].type};
    iceberg::Type type = use.transform.ResultType(*source.type);
    PartitionRange range{
        .may_be_null = summary.contains_null,
        .may_be_nan = summary.contains_nan.value_or(true),
        .lower = Bound(type, summary.lower_bound ? &*summary.lower_bound : nullptr),
        .upper = Bound(type, summary.upper_bound ? &*summary.upper_bound : nullptr)};
    evidence.Add(use, FactsOfRange(source, range), range.lower, range.upper);
  }
  return JudgeWith(evidence) != Match::kNone;
}

IcebergFileFilter::Evidence IcebergFileFilter::PartitionEvidence(
    const DataFile& file) const {
  Evidence evidence(filter_.columns().size());
  const Uses* uses = FindUses(file.spec_id);
  for (size_t i = 0; uses != nullptr && i < uses->size(); ++i) {
    const Use& use = (*uses)[i];
    if (use.position >= file.partition.size()) continue;
    const Value& value = file.partition[use.position];
    PartitionSource source{use.transform, &filter_.columns()[use.column].type};
    evidence.Add(use, FactsOfPartition(source, value), value, value);
  }
  return evidence;
}

void IcebergFileFilter::Evidence::Add(const Use& use, const ColumnFacts& facts,
                                      const std::optional<Value>& lower,
                                      const std::optional<Value>& upper) {
  columns[use.column].Intersect(facts);
  auto* low = lower ? std::get_if<int64_t>(&*lower) : nullptr;
  auto* high = upper ? std::get_if<int64_t>(&*upper) : nullptr;
  if (use.buckets.empty() || low == nullptr || high == nullptr) return;
  buckets.push_back({&use, *low, *high});
}

bool IcebergFileFilter::PartitionMayMatch(const DataFile& file) const {
  return JudgeWith(PartitionEvidence(file)) != Match::kNone;
}

Match IcebergFileFilter::Judge(const DataFile& file) const {
  Evidence evidence = PartitionEvidence(file);
  Match by_partition = JudgeWith(evidence);
  if (by_partition != Match::kSome) return by_partition;
  for (size_t i = 0; i < evidence.columns.size(); ++i) {
    evidence.columns[i].Intersect(FactsOfMetrics(filter_.columns()[i], file));
  }
  return JudgeWith(evidence);
}

bool IcebergFileFilter::MayMatch(const DataFile& file) const {
  return Judge(file) != Match::kNone;
}

bool IcebergFileFilter::MustMatch(const DataFile& file) const {
  return Judge(file) == Match::kAll;
}

Match IcebergFileFilter::JudgeWith(const Evidence& evidence) const {
  return JudgeTree(filter_.root(), [&](const Predicate& predicate) {
    for (const BucketRange& range : evidence.buckets) {
      auto wanted = range.use->buckets.find(&predicate);
      if (wanted != range.use->buckets.end() &&
          !AnyWithin(wanted->second, range.lower, range.upper)) {
        return Match::kNone;
      }
    }
    return filter::Judge(predicate, filter_.columns()[predicate.column].type,
                         evidence.columns[predicate.column]);
  });
}

}  // namespace forebay::table::filter
