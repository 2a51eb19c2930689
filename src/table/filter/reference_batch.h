// For tests: rows of reference_filter.h as an Arrow batch, named and typed as in chunks.
#pragma once

#include <arrow/api.h>
#include <arrow/util/key_value_metadata.h>

#include <memory>
#include <string>
#include <vector>

#include "table/filter/reference_filter.h"

namespace forebay::table::filter {

inline void AppendValue(const TestColumn& column, const Value& value,
                        arrow::ArrayBuilder* builder) {
  auto check = [](const arrow::Status& status) { ASSERT_TRUE(status.ok()) << status; };
  if (iceberg::IsNull(value)) return check(builder->AppendNull());
  switch (column.arrow_type->id()) {
    case arrow::Type::BOOL:
      return check(
          static_cast<arrow::BooleanBuilder*>(builder)->Append(std::get<bool>(value)));
    case arrow::Type::INT32:
      return check(static_cast<arrow::Int32Builder*>(builder)->Append(
          static_cast<int32_t>(std::get<int64_t>(value))));
    case arrow::Type::DATE32:
      return check(static_cast<arrow::Date32Builder*>(builder)->Append(
          static_cast<int32_t>(std::get<int64_t>(value))));
    case arrow::Type::INT64:
      return check(
          static_cast<arrow::Int64Builder*>(builder)->Append(std::get<int64_t>(value)));
    case arrow::Type::TIME64:
      return check(
          static_cast<arrow::Time64Builder*>(builder)->Append(std::get<int64_t>(value)));
    case arrow::Type::TIMESTAMP:
      return check(static_cast<arrow::TimestampBuilder*>(builder)->Append(
          std::get<int64_t>(value)));
    case arrow::Type::FLOAT:
      return check(static_cast<arrow::FloatBuilder*>(builder)->Append(
          static_cast<float>(std::get<double>(value))));
    case arrow::Type::DOUBLE:
      return check(
          static_cast<arrow::DoubleBuilder*>(builder)->Append(std::get<double>(value)));
    case arrow::Type::DECIMAL128:
      return check(static_cast<arrow::Decimal128Builder*>(builder)->Append(
          arrow::Decimal128(static_cast<int64_t>(std::get<Int128>(value)))));
    case arrow::Type::FIXED_SIZE_BINARY:
      return check(static_cast<arrow::FixedSizeBinaryBuilder*>(builder)->Append(
          std::get<std::string>(value)));
    default:
      return check(static_cast<arrow::BinaryBuilder*>(builder)->Append(
          std::get<std::string>(value)));
  }
}

inline std::shared_ptr<arrow::Array> ArrayOf(const TestColumn& column, size_t index,
                                             const std::vector<TestRow>& rows) {
  auto builder = *arrow::MakeBuilder(column.arrow_type);
  for (const TestRow& row : rows) {
    // Below a null struct there may be anything.
    bool hidden = column.nested && row.struct_null;
    AppendValue(column, hidden ? column.pool[0] : row.values[index], builder.get());
  }
  return *builder->Finish();
}

inline std::shared_ptr<arrow::Field> FieldOf(
    int32_t id, const std::shared_ptr<arrow::DataType>& type) {
  return arrow::field(
      "id" + std::to_string(id), type, true,
      arrow::key_value_metadata({"PARQUET:field_id"}, {std::to_string(id)}));
}

inline std::shared_ptr<arrow::RecordBatch> BatchOf(const std::vector<TestColumn>& columns,
                                                   const std::vector<TestRow>& rows) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  arrow::FieldVector inner_fields;
  arrow::ArrayVector inner_arrays;
  for (size_t c = 0; c < columns.size(); ++c) {
    bool nested = columns[c].nested;
    (nested ? inner_fields : fields)
        .push_back(FieldOf(columns[c].id, columns[c].arrow_type));
    (nested ? inner_arrays : arrays).push_back(ArrayOf(columns[c], c, rows));
  }
  arrow::BooleanBuilder valid;
  for (const TestRow& row : rows) EXPECT_TRUE(valid.Append(!row.struct_null).ok());
  auto bits = std::static_pointer_cast<arrow::BooleanArray>(*valid.Finish());
  auto info = *arrow::StructArray::Make(inner_arrays, inner_fields, bits->values());
  fields.push_back(FieldOf(90, info->type()));
  arrays.push_back(info);
  return arrow::RecordBatch::Make(arrow::schema(fields),
                                  static_cast<int64_t>(rows.size()), arrays);
}

}  // namespace forebay::table::filter
