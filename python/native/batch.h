// A batch and its columns as Python holds them.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "native/arrow_capsules.h"
#include "reader/batches/batch_stream.h"

namespace forebay::python {

// Columns in the order asked for; with remainder "pad" the mask comes last.
class Batch {
 public:
  explicit Batch(reader::Batch batch) : batch_(std::move(batch)) {}

  const reader::Batch& inner() const { return batch_; }
  ArrowFields fields() const;
  ArrowBatch arrow() const { return {batch_.columns, batch_.row_count}; }

 private:
  reader::Batch batch_;
};

// A column for the conversions in Python: nested ones and those with nulls.
struct Column {
  reader::Column column;
  std::shared_ptr<const model::Manifest> manifest;  // owns the field

  // A struct's field, a list's items, …: only what belongs to this column's rows.
  Column Child(size_t i) const;
};

void BindBatch(nanobind::module_& m);

}  // namespace forebay::python
