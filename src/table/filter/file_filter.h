// Pruning of manifests and files of an Iceberg table.
#pragma once

#include <cstdint>
#include <map>
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

  void AddUses(const iceberg::PartitionSpec& spec);
  const Uses* FindUses(int32_t spec_id) const;
  std::vector<ColumnFacts> PartitionFacts(const iceberg::DataFile& file) const;
  Match JudgeWith(const iceberg::DataFile& file,
                  const std::vector<ColumnFacts>& facts) const;

  BoundFilter filter_;
  std::map<int32_t, Uses> uses_;  // by spec
};

}  // namespace forebay::table::filter
