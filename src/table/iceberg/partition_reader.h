// The partition tuples of a manifest's files.
#pragma once

#include <vector>

#include "base/status.h"
#include "table/avro/decoder.h"
#include "table/avro/schema.h"
#include "table/iceberg/table_metadata.h"
#include "table/iceberg/value.h"

namespace forebay::table::iceberg {

class PartitionReader {
 public:
  // `record`: the Avro type of the tuples, which must outlive the reader. Fields are
  // found by id, else by name (as Avro spells it), else by position.
  static Result<PartitionReader> Make(const avro::Schema& record,
                                      const TableMetadata& metadata,
                                      const PartitionSpec& spec);

  // Sets the values that the tuple has; `values` has one null per field of the spec.
  // Damage makes the decoder fail.
  void Read(avro::Decoder& decoder, std::vector<Value>* values) const;

  // Some writers put a length before fixed values, against Avro's rules.
  bool has_fixed() const { return has_fixed_; }
  void set_fixed_has_length(bool has_length) { fixed_has_length_ = has_length; }

 private:
  struct Column {
    int spec_index = -1;  // -1: skip
    int null_branch = -1;
    const avro::Schema* type = nullptr;
    const avro::Schema* field = nullptr;
    Type result;
    bool plain_fixed = false;
  };

  Value ReadValue(avro::Decoder& decoder, const Column& column) const;

  std::vector<Column> columns_;
  bool has_fixed_ = false;
  bool fixed_has_length_ = false;
};

}  // namespace forebay::table::iceberg
