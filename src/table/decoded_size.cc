#include "table/decoded_size.h"

#include <arrow/extension_type.h>

namespace forebay::table {
namespace {

std::optional<uint64_t> StructBits(const arrow::DataType& type) {
  uint64_t bits = 1;
  for (const auto& field : type.fields()) {
    auto child = FixedBits(*field->type());
    if (!child) return std::nullopt;
    bits += *child;
  }
  return bits;
}

}  // namespace

std::optional<uint64_t> FixedBits(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::NA: return 0;
    case arrow::Type::STRUCT: return StructBits(type);
    case arrow::Type::FIXED_SIZE_LIST: {
      const auto& list = static_cast<const arrow::FixedSizeListType&>(type);
      auto child = FixedBits(*list.value_type());
      if (!child) return std::nullopt;
      return 1 + *child * static_cast<uint64_t>(list.list_size());
    }
    case arrow::Type::DICTIONARY:
      return FixedBits(*static_cast<const arrow::DictionaryType&>(type).value_type());
    case arrow::Type::RUN_END_ENCODED:
      return FixedBits(*static_cast<const arrow::RunEndEncodedType&>(type).value_type());
    case arrow::Type::EXTENSION:
      return FixedBits(*static_cast<const arrow::ExtensionType&>(type).storage_type());
    default: break;
  }
  if (!arrow::is_fixed_width(type.id())) return std::nullopt;
  return 1 + static_cast<uint64_t>(type.bit_width());
}

}  // namespace forebay::table
