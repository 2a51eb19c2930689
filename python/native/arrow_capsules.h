// The Arrow PyCapsule protocol: schemas, batches and streams for any Arrow library.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/status.h"
#include "model/manifest.h"
#include "reader/column.h"

namespace forebay::python {

// The columns of a batch as Arrow sees it: fields in order, kept alive by the manifest.
struct ArrowFields {
  std::shared_ptr<const model::Manifest> manifest;
  std::vector<const model::Field*> fields;
};

struct ArrowBatch {
  std::vector<reader::Column> columns;
  uint64_t row_count = 0;
};

// "arrow_schema"
nanobind::object SchemaCapsule(const ArrowFields& fields);
// ("arrow_schema", "arrow_array")
nanobind::tuple ArrayCapsules(const ArrowFields& fields, ArrowBatch batch);

// "arrow_array_stream". `next` gives nullopt after the last batch. It is called by
// whoever reads the stream, in any thread and never with the GIL held.
using NextArrowBatch = std::function<Result<std::optional<ArrowBatch>>()>;
nanobind::object StreamCapsule(ArrowFields fields, NextArrowBatch next);

}  // namespace forebay::python
