// The type that holds the values of two types without loss.
#pragma once

#include <arrow/type.h>

#include <memory>
#include <optional>

namespace forebay::table {

// Both types are plain (PlainType). Nothing where no type holds both; time units widen to
// the finer one, and a value that does not fit it fails when it is read.
std::optional<std::shared_ptr<arrow::DataType>> CommonType(
    const std::shared_ptr<arrow::DataType>& a, const std::shared_ptr<arrow::DataType>& b);

// All of a's fields, then those only b has; shared ones by name with their common type.
std::optional<arrow::FieldVector> CommonFields(const arrow::FieldVector& a,
                                               const arrow::FieldVector& b);

}  // namespace forebay::table
