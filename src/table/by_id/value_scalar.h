// Iceberg's single values as Arrow scalars.
#pragma once

#include <arrow/scalar.h>

#include <memory>

#include "base/status.h"
#include "table/iceberg/value.h"

namespace forebay::table::by_id {

// kInvalid when a value of this kind is none of the type.
Result<std::shared_ptr<arrow::Scalar>> ScalarOf(
    const iceberg::Value& value, const std::shared_ptr<arrow::DataType>& type);

}  // namespace forebay::table::by_id
