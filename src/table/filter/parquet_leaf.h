// How the values of a Parquet leaf column stand for those of a table's column.
#pragma once

#include <parquet/bloom_filter.h>
#include <parquet/schema.h>
#include <parquet/statistics.h>

#include <cstdint>
#include <optional>

#include "table/filter/match.h"
#include "table/iceberg/types.h"
#include "table/iceberg/value.h"

namespace forebay::table::filter {

// Types whose order in statistics is the table's order; all others are kOpaque.
enum class LeafKind : uint8_t {
  kOpaque,
  kBoolean,
  kInteger,   // times a factor
  kUnsigned,  // 32 bits; 64 for a decimal
  kFloat,
  kDecimal,       // unscaled, as an integer
  kDecimalBytes,  // big-endian
  kBytes,
};

class ParquetLeaf {
 public:
  ParquetLeaf(const parquet::ColumnDescriptor* descriptor, const iceberg::Type& type);

  bool opaque() const { return kind_ == LeafKind::kOpaque; }

  // Smallest and largest value. Nothing where they are not usable.
  void AddBounds(const parquet::Statistics& statistics, ColumnFacts* facts) const;

  // False: the value, of the table's type, is not among the column's.
  bool MayContain(const parquet::BloomFilter& bloom, const iceberg::Value& value) const;

 private:
  std::optional<iceberg::Value> FromInteger(int64_t raw) const;
  std::optional<iceberg::Value> FromBytes(const uint8_t* bytes, uint32_t size) const;
  // Nothing: no physical value stands for it, so it is not there.
  std::optional<int64_t> ToInteger(const iceberg::Value& value) const;

  const parquet::ColumnDescriptor* descriptor_;
  iceberg::Type type_;
  LeafKind kind_ = LeafKind::kOpaque;
  int64_t factor_ = 1;
};

}  // namespace forebay::table::filter
