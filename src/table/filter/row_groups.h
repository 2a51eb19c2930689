// Pruning of a Parquet file's row groups by statistics and bloom filters.
#pragma once

#include <parquet/bloom_filter_reader.h>
#include <parquet/metadata.h>

#include <vector>

#include "table/filter/bound_filter.h"
#include "table/filter/match.h"

namespace forebay::table::filter {

struct RowGroupEvidence {
  const parquet::FileMetaData* metadata = nullptr;
  // Per column of the filter: which leaf column of the file holds it; -1: none, or not
  // known, and nothing is concluded.
  std::vector<int> leaves{};
  // Read from only where statistics leave a question open. May be nullptr.
  parquet::BloomFilterReader* blooms = nullptr;
};

// By the field ids in the file, for Iceberg; by names, for plain tables and files without
// ids whose names are the table's.
std::vector<int> LeavesById(const BoundFilter& filter,
                            const parquet::SchemaDescriptor& schema);
std::vector<int> LeavesByName(const BoundFilter& filter,
                              const parquet::SchemaDescriptor& schema);

// Statistics and bloom filters that can't be read or trusted count as absent.
Match MatchRowGroup(const BoundFilter& filter, const RowGroupEvidence& evidence,
                    int group);

inline bool RowGroupMayMatch(const BoundFilter& filter, const RowGroupEvidence& evidence,
                             int group) {
  return MatchRowGroup(filter, evidence, group) != Match::kNone;
}

}  // namespace forebay::table::filter
