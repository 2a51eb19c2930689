#include "table/schema_merge.h"

#include <arrow/extension_type.h>
#include <arrow/type_traits.h>
#include <fmt/format.h>

#include <algorithm>

#include "table/arrow_schema.h"

namespace forebay::table {
namespace {

using TypePtr = std::shared_ptr<arrow::DataType>;
using MaybeType = std::optional<TypePtr>;
using arrow::Type;

int Width(const arrow::DataType& type) { return type.bit_width(); }

MaybeType SignedOf(int bits) {
  switch (bits) {
    case 8: return arrow::int8();
    case 16: return arrow::int16();
    case 32: return arrow::int32();
    case 64: return arrow::int64();
    default: return std::nullopt;
  }
}

MaybeType CommonInteger(const TypePtr& a, const TypePtr& b) {
  bool a_signed = arrow::is_signed_integer(a->id());
  if (a_signed == arrow::is_signed_integer(b->id())) {
    return Width(*a) >= Width(*b) ? a : b;
  }
  const TypePtr& with_sign = a_signed ? a : b;
  const TypePtr& without = a_signed ? b : a;
  return SignedOf(std::max(Width(*with_sign), 2 * Width(*without)));
}

// float holds 24 bits exactly, double 53.
MaybeType CommonNumber(const TypePtr& a, const TypePtr& b) {
  if (arrow::is_integer(a->id()) && arrow::is_integer(b->id()))
    return CommonInteger(a, b);
  if (arrow::is_floating(a->id()) && arrow::is_floating(b->id())) {
    return Width(*a) >= Width(*b) ? a : b;
  }
  const TypePtr& integer = arrow::is_integer(a->id()) ? a : b;
  const TypePtr& floating = arrow::is_integer(a->id()) ? b : a;
  if (Width(*integer) > 32) return std::nullopt;
  if (Width(*integer) == 32 || Width(*floating) == 64) return arrow::float64();
  return arrow::float32();
}

MaybeType CommonDecimal(const arrow::DataType& a, const arrow::DataType& b) {
  const auto& x = static_cast<const arrow::DecimalType&>(a);
  const auto& y = static_cast<const arrow::DecimalType&>(b);
  int scale = std::max(x.scale(), y.scale());
  int whole = std::max(x.precision() - x.scale(), y.precision() - y.scale());
  int precision = whole + scale;
  int bits = std::max(Width(a), Width(b));
  if (bits <= 128 && precision <= arrow::Decimal128Type::kMaxPrecision) {
    return arrow::decimal128(precision, scale);
  }
  if (precision > arrow::Decimal256Type::kMaxPrecision) return std::nullopt;
  return arrow::decimal256(precision, scale);
}

template <typename T>
arrow::TimeUnit::type FinerUnit(const arrow::DataType& a, const arrow::DataType& b) {
  return std::max(static_cast<const T&>(a).unit(), static_cast<const T&>(b).unit());
}

MaybeType CommonTemporal(const TypePtr& a, const TypePtr& b) {
  if (a->id() == Type::TIMESTAMP && b->id() == Type::TIMESTAMP) {
    const auto& zone = static_cast<const arrow::TimestampType&>(*a).timezone();
    if (zone != static_cast<const arrow::TimestampType&>(*b).timezone())
      return std::nullopt;
    return arrow::timestamp(FinerUnit<arrow::TimestampType>(*a, *b), zone);
  }
  if (a->id() == Type::DURATION && b->id() == Type::DURATION) {
    return arrow::duration(FinerUnit<arrow::DurationType>(*a, *b));
  }
  if (arrow::is_time(a->id()) && arrow::is_time(b->id())) {
    auto unit = FinerUnit<arrow::TimeType>(*a, *b);
    return unit <= arrow::TimeUnit::MILLI ? arrow::time32(unit) : arrow::time64(unit);
  }
  if (arrow::is_date(a->id()) && arrow::is_date(b->id())) return arrow::date64();
  return std::nullopt;
}

MaybeType CommonString(Type::type a, Type::type b) {
  auto is_text = [](Type::type t) {
    return t == Type::STRING || t == Type::LARGE_STRING;
  };
  if (is_text(a) != is_text(b)) return std::nullopt;
  return is_text(a) ? arrow::large_utf8() : arrow::large_binary();
}

std::optional<std::shared_ptr<arrow::Field>> CommonField(const arrow::Field& a,
                                                         const arrow::Field& b) {
  auto type = CommonType(a.type(), b.type());
  if (!type) return std::nullopt;
  return arrow::field(a.name(), *type, a.nullable() || b.nullable(), a.metadata());
}

MaybeType CommonList(const TypePtr& a, const TypePtr& b) {
  auto value = CommonField(*a->field(0), *b->field(0));
  if (!value) return std::nullopt;
  if (a->id() == Type::LIST && b->id() == Type::LIST) return arrow::list(*value);
  return arrow::large_list(*value);
}

MaybeType CommonMap(const arrow::MapType& a, const arrow::MapType& b) {
  auto key = CommonField(*a.key_field(), *b.key_field());
  auto item = CommonField(*a.item_field(), *b.item_field());
  if (!key || !item) return std::nullopt;
  return std::make_shared<arrow::MapType>((*key)->WithNullable(false), *item);
}

MaybeType CommonFixedList(const TypePtr& a, const TypePtr& b) {
  const auto& x = static_cast<const arrow::FixedSizeListType&>(*a);
  const auto& y = static_cast<const arrow::FixedSizeListType&>(*b);
  auto value = CommonField(*x.value_field(), *y.value_field());
  if (!value || x.list_size() != y.list_size()) return std::nullopt;
  return arrow::fixed_size_list(*value, x.list_size());
}

bool IsNumber(Type::type id) { return arrow::is_integer(id) || arrow::is_floating(id); }
bool IsList(Type::type id) { return id == Type::LIST || id == Type::LARGE_LIST; }

TypePtr PlainOrSame(const TypePtr& type) {
  auto plain = PlainType(type);
  return plain.ok() ? *plain : type;
}

}  // namespace

MaybeType CommonType(const TypePtr& a, const TypePtr& b) {
  if (a->Equals(*b)) return a;
  Type::type x = a->id(), y = b->id();
  if (x == Type::NA) return b;
  if (y == Type::NA) return a;
  if (IsNumber(x) && IsNumber(y)) return CommonNumber(a, b);
  if (arrow::is_decimal(x) && arrow::is_decimal(y)) return CommonDecimal(*a, *b);
  if (arrow::is_base_binary_like(x) && arrow::is_base_binary_like(y)) {
    return CommonString(x, y);
  }
  if (arrow::is_temporal(x) && arrow::is_temporal(y)) return CommonTemporal(a, b);
  if (IsList(x) && IsList(y)) return CommonList(a, b);
  if (x != y) return std::nullopt;
  if (x == Type::FIXED_SIZE_LIST) return CommonFixedList(a, b);
  if (x == Type::MAP) {
    return CommonMap(static_cast<const arrow::MapType&>(*a),
                     static_cast<const arrow::MapType&>(*b));
  }
  if (x == Type::STRUCT) {
    auto fields = CommonFields(a->fields(), b->fields());
    if (fields) return arrow::struct_(*fields);
  }
  return std::nullopt;
}

std::optional<arrow::FieldVector> CommonFields(const arrow::FieldVector& a,
                                               const arrow::FieldVector& b) {
  arrow::FieldVector out;
  auto find = [](const arrow::FieldVector& in, const std::string& name) {
    return std::ranges::find_if(in, [&](const auto& f) { return f->name() == name; });
  };
  for (const auto& field : a) {
    auto other = find(b, field->name());
    if (other == b.end()) {
      out.push_back(field->WithNullable(true));
      continue;
    }
    auto common = CommonField(*field, **other);
    if (!common) return std::nullopt;
    out.push_back(*common);
  }
  for (const auto& field : b) {
    if (find(a, field->name()) == a.end()) out.push_back(field->WithNullable(true));
  }
  return out;
}

Status SchemaMerge::Add(const arrow::Schema& schema, const std::string& uri) {
  if (files_ == 0) metadata_ = schema.metadata();
  for (const auto& field : schema.fields()) FB_RETURN_NOT_OK(AddField(*field, uri));
  ++files_;
  return Status::OK();
}

Status SchemaMerge::AddField(const arrow::Field& field, const std::string& uri) {
  auto [it, is_new] = index_.try_emplace(field.name(), columns_.size());
  if (is_new) {
    columns_.push_back(
        {arrow::field(field.name(), field.type(), field.nullable(), field.metadata()),
         uri, 1});
    return Status::OK();
  }
  Column& column = columns_[it->second];
  ++column.files;
  bool nullable = column.field->nullable() || field.nullable();
  if (column.field->type()->Equals(*field.type())) {
    column.field = column.field->WithNullable(nullable);
    return Status::OK();
  }
  TypePtr before = PlainOrSame(column.field->type());
  auto common = CommonType(before, PlainOrSame(field.type()));
  if (!common) {
    return Status::Invalid(fmt::format(
        "column '{}' is {} in {} and {} in {}, and no type holds both: write the files "
        "with one type, or open them apart",
        field.name(), column.field->type()->ToString(), column.uri,
        field.type()->ToString(), uri));
  }
  if (!(*common)->Equals(*before)) column.uri = uri;
  column.field = column.field->WithType(*common)->WithNullable(nullable);
  return Status::OK();
}

std::shared_ptr<arrow::Schema> SchemaMerge::Finish() const {
  arrow::FieldVector fields;
  for (const Column& column : columns_) {
    bool everywhere = column.files == files_;
    fields.push_back(column.field->WithNullable(column.field->nullable() || !everywhere));
  }
  return arrow::schema(std::move(fields), metadata_);
}

}  // namespace forebay::table
