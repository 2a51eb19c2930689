// Partition transforms: identity, bucket, truncate, year, month, day, hour, void.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "table/iceberg/types.h"
#include "table/iceberg/value.h"

namespace forebay::table::iceberg {

enum class TransformKind : uint8_t {
  kIdentity,
  kBucket,
  kTruncate,
  kYear,
  kMonth,
  kDay,
  kHour,
  kVoid,
  kUnknown,  // a newer one: its values can't be used for pruning
};

struct Transform {
  TransformKind kind = TransformKind::kIdentity;
  int32_t width = 0;  // of bucket and truncate

  // "bucket[16]"; an unknown name is kUnknown, never an error.
  static Transform Parse(std::string_view text);
  std::string ToString() const;
  Type ResultType(const Type& source) const;
  // Null stays null.
  Value Apply(const Type& source, const Value& value) const;
  friend bool operator==(const Transform&, const Transform&) = default;
};

}  // namespace forebay::table::iceberg
