#include "table/conform.h"

#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <arrow/compute/initialize.h>
#include <arrow/extension_type.h>

namespace forebay::table {
namespace {

using arrow::Type;
using DataPtr = std::shared_ptr<arrow::ArrayData>;
using TypePtr = std::shared_ptr<arrow::DataType>;
using DataResult = arrow::Result<DataPtr>;

arrow::Status RegisterKernels() {
  static const arrow::Status status = arrow::compute::Initialize();
  return status;
}

DataResult Cast(const DataPtr& data, const TypePtr& type, arrow::MemoryPool* pool) {
  ARROW_RETURN_NOT_OK(RegisterKernels());
  arrow::compute::ExecContext context(pool);
  ARROW_ASSIGN_OR_RAISE(
      arrow::Datum out,
      arrow::compute::Cast(arrow::Datum(data), type, arrow::compute::CastOptions::Safe(),
                           &context));
  return out.array();
}

DataResult DecodeRunEnds(const DataPtr& data, arrow::MemoryPool* pool) {
  ARROW_RETURN_NOT_OK(RegisterKernels());
  arrow::compute::ExecContext context(pool);
  ARROW_ASSIGN_OR_RAISE(arrow::Datum out,
                        arrow::compute::RunEndDecode(arrow::Datum(data), &context));
  return out.array();
}

// Works for every value type, nested ones too, which a cast would not.
DataResult DecodeDictionary(const DataPtr& data, arrow::MemoryPool* pool) {
  ARROW_RETURN_NOT_OK(RegisterKernels());
  const auto& type = static_cast<const arrow::DictionaryType&>(*data->type);
  auto indices = data->Copy();
  indices->type = type.index_type();
  indices->dictionary = nullptr;
  arrow::compute::ExecContext context(pool);
  ARROW_ASSIGN_OR_RAISE(
      arrow::Datum out,
      arrow::compute::Take(arrow::Datum(data->dictionary), arrow::Datum(indices),
                           arrow::compute::TakeOptions::NoBoundsCheck(), &context));
  return out.array();
}

DataResult WithChild(const DataPtr& data, const TypePtr& type, arrow::MemoryPool* pool) {
  auto out = data->Copy();
  out->type = type;
  ARROW_ASSIGN_OR_RAISE(out->child_data[0],
                        Conform(data->child_data[0], type->field(0)->type(), pool));
  return out;
}

DataResult ConformStruct(const DataPtr& data, const TypePtr& type,
                         arrow::MemoryPool* pool) {
  auto out = data->Copy();
  out->type = type;
  out->child_data.clear();
  const auto& from = static_cast<const arrow::StructType&>(*data->type);
  for (const auto& field : type->fields()) {
    int index = from.GetFieldIndex(field->name());
    if (index >= 0) {
      ARROW_ASSIGN_OR_RAISE(auto child,
                            Conform(data->child_data[index], field->type(), pool));
      out->child_data.push_back(std::move(child));
    } else {
      ARROW_ASSIGN_OR_RAISE(
          auto nulls,
          arrow::MakeArrayOfNull(field->type(), data->offset + data->length, pool));
      out->child_data.push_back(nulls->data());
    }
  }
  return out;
}

// Entries are key and value by place; writers name them as they like.
DataResult ConformMap(const DataPtr& data, const TypePtr& type, arrow::MemoryPool* pool) {
  auto out = data->Copy();
  out->type = type;
  auto entries = data->child_data[0]->Copy();
  entries->type = type->field(0)->type();
  for (int i = 0; i < 2; ++i) {
    ARROW_ASSIGN_OR_RAISE(
        entries->child_data[i],
        Conform(entries->child_data[i], entries->type->field(i)->type(), pool));
  }
  out->child_data[0] = std::move(entries);
  return out;
}

// Arrow's cast from list views copies their offsets as if they were in order; this does
// not depend on the order.
template <typename View, typename List>
DataResult FromView(const DataPtr& data, arrow::MemoryPool* pool) {
  ARROW_ASSIGN_OR_RAISE(auto list, List::FromListView(View(data), pool));
  return list->data();
}

// list → large_list, list views → lists: first the layout, then the values.
DataResult ConformList(const DataPtr& data, const TypePtr& type,
                       arrow::MemoryPool* pool) {
  if (data->type->id() == Type::LIST_VIEW) {
    ARROW_ASSIGN_OR_RAISE(auto list,
                          (FromView<arrow::ListViewArray, arrow::ListArray>(data, pool)));
    return Conform(list, type, pool);
  }
  if (data->type->id() == Type::LARGE_LIST_VIEW) {
    ARROW_ASSIGN_OR_RAISE(
        auto list,
        (FromView<arrow::LargeListViewArray, arrow::LargeListArray>(data, pool)));
    return Conform(list, type, pool);
  }
  const auto& value = data->type->field(0)->type();
  TypePtr layout =
      type->id() == Type::LIST ? arrow::list(value) : arrow::large_list(value);
  ARROW_ASSIGN_OR_RAISE(auto list, Cast(data, layout, pool));
  return WithChild(list, type, pool);
}

}  // namespace

DataResult Conform(const DataPtr& data, const TypePtr& type, arrow::MemoryPool* pool) {
  Type::type from = data->type->id();
  Type::type to = type->id();
  if (from == Type::EXTENSION) {
    auto storage = data->Copy();
    storage->type = static_cast<const arrow::ExtensionType&>(*data->type).storage_type();
    return Conform(storage, type, pool);
  }
  if (from == Type::DICTIONARY) {
    ARROW_ASSIGN_OR_RAISE(auto plain, DecodeDictionary(data, pool));
    return Conform(plain, type, pool);
  }
  if (from == Type::RUN_END_ENCODED) {
    ARROW_ASSIGN_OR_RAISE(auto plain, DecodeRunEnds(data, pool));
    return Conform(plain, type, pool);
  }
  if (from == Type::NA && to != Type::NA) {
    ARROW_ASSIGN_OR_RAISE(auto nulls, arrow::MakeArrayOfNull(type, data->length, pool));
    return nulls->data();
  }
  if (to == Type::LIST || to == Type::LARGE_LIST) {
    return from == to ? WithChild(data, type, pool) : ConformList(data, type, pool);
  }
  if (from == to && to == Type::STRUCT) return ConformStruct(data, type, pool);
  if (from == to && to == Type::MAP) return ConformMap(data, type, pool);
  if (from == to && to == Type::FIXED_SIZE_LIST) return WithChild(data, type, pool);
  if (data->type->Equals(*type)) return data;
  return Cast(data, type, pool);
}

}  // namespace forebay::table
