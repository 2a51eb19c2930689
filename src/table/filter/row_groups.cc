#include "table/filter/row_groups.h"

#include <parquet/bloom_filter.h>
#include <parquet/statistics.h>

#include <exception>
#include <map>
#include <memory>

#include "table/filter/parquet_leaf.h"

namespace forebay::table::filter {
namespace {

// Longer lists find something in most bloom filters.
constexpr size_t kBloomValuesMax = 1000;

class RowGroupJudge {
 public:
  RowGroupJudge(const BoundFilter& filter, const RowGroupEvidence& evidence, int group)
      : filter_(filter),
        evidence_(evidence),
        group_(group),
        row_group_(evidence.metadata->RowGroup(group)) {}

  Match Run() {
    for (size_t i = 0; i < filter_.columns().size(); ++i) facts_.push_back(Collect(i));
    Match match = JudgeTree(filter_.root(), [&](const Predicate& predicate) {
      return ByStatistics(predicate);
    });
    if (match != Match::kSome || evidence_.blooms == nullptr) return match;
    return JudgeTree(filter_.root(), [&](const Predicate& predicate) {
      Match by_statistics = ByStatistics(predicate);
      bool open = by_statistics == Match::kSome && !BloomMayMatch(predicate);
      return open ? Match::kNone : by_statistics;
    });
  }

 private:
  Match ByStatistics(const Predicate& predicate) const {
    return Judge(predicate, filter_.columns()[predicate.column].type,
                 facts_[predicate.column]);
  }

  const parquet::ColumnDescriptor* Descriptor(size_t column) const {
    int leaf = column < evidence_.leaves.size() ? evidence_.leaves[column] : -1;
    if (leaf < 0 || leaf >= row_group_->num_columns()) return nullptr;
    const auto* descriptor = row_group_->schema()->Column(leaf);
    return descriptor->max_repetition_level() == 0 ? descriptor : nullptr;
  }

  ColumnFacts Collect(size_t index) const {
    const parquet::ColumnDescriptor* descriptor = Descriptor(index);
    ColumnFacts facts;
    if (descriptor == nullptr) return facts;
    try {
      auto chunk = row_group_->ColumnChunk(evidence_.leaves[index]);
      facts.may_be_null = descriptor->max_definition_level() > 0;
      auto statistics = chunk->is_stats_set() ? chunk->statistics() : nullptr;
      if (statistics == nullptr) return facts;
      const Column& column = filter_.columns()[index];
      ParquetLeaf(descriptor, column.type).AddBounds(*statistics, &facts);
      if (!statistics->HasNullCount() || row_group_->num_rows() <= 0) return facts;
      // Writers differ in whether a null struct counts as a null of its columns.
      if (statistics->null_count() == 0 && !column.nested()) facts.may_be_null = false;
      if (statistics->null_count() == row_group_->num_rows()) {
        facts.may_be_value = facts.may_be_nan = false;
      }
      return facts;
    } catch (const std::exception&) {
      return {};
    }
  }

  // Only of a type that can be looked up.
  bool BloomMayMatch(const Predicate& predicate) {
    bool asks = predicate.op == Operator::kEqual || predicate.op == Operator::kIn;
    const auto* descriptor = Descriptor(predicate.column);
    if (!asks || descriptor == nullptr || predicate.values.size() > kBloomValuesMax) {
      return true;
    }
    ParquetLeaf leaf(descriptor, filter_.columns()[predicate.column].type);
    if (leaf.opaque()) return true;
    try {
      const parquet::BloomFilter* bloom = Bloom(evidence_.leaves[predicate.column]);
      if (bloom == nullptr) return true;
      for (const iceberg::Value& value : predicate.values) {
        if (leaf.MayContain(*bloom, value)) return true;
      }
      return false;
    } catch (const std::exception&) {
      return true;
    }
  }

  const parquet::BloomFilter* Bloom(int leaf) {
    auto [found, is_new] = blooms_.try_emplace(leaf);
    if (is_new && row_group_->ColumnChunk(leaf)->bloom_filter_offset().has_value()) {
      auto reader = evidence_.blooms->RowGroup(group_);
      if (reader != nullptr) found->second = reader->GetColumnBloomFilter(leaf);
    }
    return found->second.get();
  }

  const BoundFilter& filter_;
  const RowGroupEvidence& evidence_;
  const int group_;
  std::unique_ptr<parquet::RowGroupMetaData> row_group_;
  std::vector<ColumnFacts> facts_;  // per column of the filter
  std::map<int, std::unique_ptr<parquet::BloomFilter>> blooms_;  // per leaf
};

template <typename Matches>
std::vector<int> FindLeaves(const BoundFilter& filter,
                            const parquet::SchemaDescriptor& schema,
                            const Matches& matches) {
  std::vector<int> leaves;
  for (const Column& column : filter.columns()) {
    int found = -1;
    int count = 0;
    for (int i = 0; i < schema.num_columns(); ++i) {
      const parquet::ColumnDescriptor& leaf = *schema.Column(i);
      if (leaf.max_repetition_level() > 0 || !matches(column, leaf)) continue;
      found = i;
      ++count;
    }
    leaves.push_back(count == 1 ? found : -1);
  }
  return leaves;
}

}  // namespace

std::vector<int> LeavesById(const BoundFilter& filter,
                            const parquet::SchemaDescriptor& schema) {
  return FindLeaves(filter, schema, [](const Column& column, const auto& leaf) {
    return leaf.schema_node()->field_id() == column.id;
  });
}

std::vector<int> LeavesByName(const BoundFilter& filter,
                              const parquet::SchemaDescriptor& schema) {
  return FindLeaves(filter, schema, [](const Column& column, const auto& leaf) {
    return leaf.path()->ToDotVector() == column.path;
  });
}

Match MatchRowGroup(const BoundFilter& filter, const RowGroupEvidence& evidence,
                    int group) {
  try {
    return RowGroupJudge(filter, evidence, group).Run();
  } catch (const std::exception&) {
    return Match::kSome;
  }
}

}  // namespace forebay::table::filter
