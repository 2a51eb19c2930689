// Pruning of manifests and files of an Iceberg table.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "table/filter/bound_filter.h"
#include "table/filter/match.h"
#include "table/iceberg/scan.h"
#include "table/iceberg/table_metadata.h"

namespace forebay::table::filter {

// Partition values, summaries and metrics that make no sense are taken as unknown, never
// as a reason to skip rows.
class IcebergFileFilter : public iceberg::FileFilter {
 public:
  IcebergFileFilter(BoundFilter filter, const std::vector<iceberg::PartitionSpec>& specs);

  bool MayMatch(const iceberg::ManifestFile& manifest) const override;
  bool PartitionMayMatch(const iceberg::DataFile& file) const override;
  bool MayMatch(const iceberg::DataFile& file) const override;
  bool MustMatch(const iceberg::DataFile& file) const override;
  Match Judge(const iceberg::DataFile& file) const;

 private:
  // A partition field whose source the filter looks at.
  struct Use {
    uint32_t position = 0;  // in the spec
    uint32_t column = 0;    // in the filter
    iceberg::Transform transform;
    // Of a bucket: the buckets of the values of every = and in, by predicate.
    std::map<const Predicate*, std::vector<int64_t>> buckets{};
  };
  using Uses = std::vector<Use>;
  struct BucketRange {
    const Use* use = nullptr;
    int64_t lower = 0;
    int64_t upper = 0;
  };
  // What is known of a file or manifest.
  struct Evidence {
    explicit Evidence(size_t column_count) : columns(column_count) {}
    void Add(const Use& use, const ColumnFacts& facts,
             const std::optional<iceberg::Value>& lower,
             const std::optional<iceberg::Value>& upper);

    std::vector<ColumnFacts> columns;  // the filter's
    std::vector<BucketRange> buckets;
  };

  void AddUses(const iceberg::PartitionSpec& spec);
  void AddBuckets(const Predicate& predicate, Use* use) const;
  const Uses* FindUses(int32_t spec_id) const;
  Evidence PartitionEvidence(const iceberg::DataFile& file) const;
  Match JudgeWith(const Evidence& evidence) const;

  BoundFilter filter_;
  std::map<int32_t, Uses> uses_;  // by spec
};

}  // namespace forebay::table::filter
