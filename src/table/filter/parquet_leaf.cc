#include "table/filter/parquet_leaf.h"

#include <limits>
#include <utility>

#include "table/filter/partition_facts.h"
#include "table/iceberg/calendar.h"
#include "table/iceberg/decimal.h"

namespace forebay::table::filter {
namespace {

using iceberg::Int128;
using iceberg::Type;
using iceberg::TypeId;
using iceberg::Value;
using Physical = parquet::Type;

struct Mapping {
  LeafKind kind = LeafKind::kOpaque;
  int64_t factor = 1;
};

int64_t PerSecond(parquet::LogicalType::TimeUnit::unit unit) {
  switch (unit) {
    case parquet::LogicalType::TimeUnit::MILLIS: return 1'000;
    case parquet::LogicalType::TimeUnit::MICROS: return 1'000'000;
    case parquet::LogicalType::TimeUnit::NANOS: return 1'000'000'000;
    default: return 0;
  }
}

bool IsSigned(const parquet::LogicalType& logical) {
  return !logical.is_int() ||
         static_cast<const parquet::IntLogicalType&>(logical).is_signed();
}

Mapping MapInteger(Physical::type physical, const parquet::LogicalType& logical) {
  if (!logical.is_none() && !logical.is_int()) return {};
  if (physical == Physical::INT32) {
    return {IsSigned(logical) ? LeafKind::kInteger : LeafKind::kUnsigned};
  }
  if (physical == Physical::INT64 && IsSigned(logical)) return {LeafKind::kInteger};
  return {};
}

Mapping MapDecimal(Physical::type physical, const parquet::LogicalType& logical,
                   const Type& type) {
  if (logical.is_int() && !IsSigned(logical) && physical == Physical::INT64) {
    return {type.scale == 0 ? LeafKind::kUnsigned : LeafKind::kOpaque};
  }
  if (!logical.is_decimal() ||
      static_cast<const parquet::DecimalLogicalType&>(logical).scale() != type.scale) {
    return {};
  }
  if (physical == Physical::INT32 || physical == Physical::INT64) {
    return {LeafKind::kDecimal};
  }
  return {physical == Physical::FIXED_LEN_BYTE_ARRAY ? LeafKind::kDecimalBytes
                                                     : LeafKind::kOpaque};
}

Mapping MapTime(Physical::type physical, const parquet::LogicalType& logical) {
  if (!logical.is_time()) return {};
  int64_t unit =
      PerSecond(static_cast<const parquet::TimeLogicalType&>(logical).time_unit());
  bool fits = (physical == Physical::INT32 && unit == 1'000) ||
              (physical == Physical::INT64 && unit == 1'000'000);
  return fits ? Mapping{LeafKind::kInteger, 1'000'000 / unit} : Mapping{};
}

Mapping MapTimestamp(Physical::type physical, const parquet::LogicalType& logical,
                     const Type& type) {
  bool nanos = type.id == TypeId::kTimestampNs || type.id == TypeId::kTimestampTzNs;
  int64_t wanted = nanos ? 1'000'000'000 : 1'000'000;
  // The column was a date when the file was written.
  if (logical.is_date() && physical == Physical::INT32) {
    return {LeafKind::kInteger, iceberg::kSecondsPerDay * wanted};
  }
  if (!logical.is_timestamp() || physical != Physical::INT64) return {};
  int64_t unit =
      PerSecond(static_cast<const parquet::TimestampLogicalType&>(logical).time_unit());
  if (unit == 0 || wanted < unit) return {};
  return {LeafKind::kInteger, wanted / unit};
}

Mapping MapBytes(const parquet::ColumnDescriptor& leaf,
                 const parquet::LogicalType& logical, const Type& type) {
  bool text = logical.is_none() || logical.is_string() || logical.is_enum() ||
              logical.is_JSON() || logical.is_BSON();
  if (leaf.physical_type() == Physical::BYTE_ARRAY) {
    bool variable = type.id == TypeId::kString || type.id == TypeId::kBinary;
    return {text && variable ? LeafKind::kBytes : LeafKind::kOpaque};
  }
  int32_t length = type.id == TypeId::kUuid ? 16 : type.length;
  bool fixed = leaf.physical_type() == Physical::FIXED_LEN_BYTE_ARRAY &&
               (logical.is_none() || logical.is_UUID()) && leaf.type_length() == length;
  return {fixed ? LeafKind::kBytes : LeafKind::kOpaque};
}

Mapping MapLeaf(const parquet::ColumnDescriptor& leaf, const Type& type) {
  Physical::type physical = leaf.physical_type();
  const parquet::LogicalType& logical = *leaf.logical_type();
  switch (type.id) {
    case TypeId::kBoolean:
      return {physical == Physical::BOOLEAN ? LeafKind::kBoolean : LeafKind::kOpaque};
    case TypeId::kInt:
    case TypeId::kLong: return MapInteger(physical, logical);
    case TypeId::kFloat:
      return {physical == Physical::FLOAT ? LeafKind::kFloat : LeafKind::kOpaque};
    case TypeId::kDouble:
      if (physical != Physical::FLOAT && physical != Physical::DOUBLE) return {};
      return {LeafKind::kFloat};
    case TypeId::kDecimal: return MapDecimal(physical, logical, type);
    case TypeId::kDate:
      if (physical != Physical::INT32 || !logical.is_date()) return {};
      return {LeafKind::kInteger};
    case TypeId::kTime: return MapTime(physical, logical);
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
    case TypeId::kTimestampNs:
    case TypeId::kTimestampTzNs: return MapTimestamp(physical, logical, type);
    case TypeId::kString:
    case TypeId::kUuid:
    case TypeId::kFixed:
    case TypeId::kBinary: return MapBytes(leaf, logical, type);
    default: return {};
  }
}

using Bounds = std::pair<std::optional<Value>, std::optional<Value>>;

// Smallest and largest, each through `convert`.
template <typename DType, typename Convert>
Bounds Convert2(const parquet::Statistics& statistics, const Convert& convert) {
  const auto& typed = static_cast<const parquet::TypedStatistics<DType>&>(statistics);
  return {convert(typed.min()), convert(typed.max())};
}

// Of the length that the column has.
std::string BigEndian(Int128 value, int32_t length) {
  std::string bytes(static_cast<size_t>(length), '\0');
  for (auto byte = bytes.rbegin(); byte != bytes.rend(); ++byte) {
    *byte = static_cast<char>(value & 0xFF);
    value >>= 8;
  }
  return bytes;
}

bool FindFloat(const parquet::BloomFilter& bloom, Physical::type physical, double value) {
  if (physical == Physical::DOUBLE) return bloom.FindHash(bloom.Hash(value));
  auto narrow = static_cast<float>(value);
  return static_cast<double>(narrow) == value && bloom.FindHash(bloom.Hash(narrow));
}

bool FindFixed(const parquet::BloomFilter& bloom, const std::string& bytes) {
  parquet::FLBA value(reinterpret_cast<const uint8_t*>(bytes.data()));
  return bloom.FindHash(bloom.Hash(&value, static_cast<uint32_t>(bytes.size())));
}

}  // namespace

ParquetLeaf::ParquetLeaf(const parquet::ColumnDescriptor* descriptor, const Type& type)
    : descriptor_(descriptor), type_(type) {
  Mapping mapping = MapLeaf(*descriptor, type);
  kind_ = mapping.kind;
  factor_ = mapping.factor;
}

std::optional<Value> ParquetLeaf::FromInteger(int64_t raw) const {
  switch (kind_) {
    case LeafKind::kDecimal: return Value(Int128{raw});
    case LeafKind::kUnsigned:
      if (descriptor_->physical_type() == Physical::INT64) {
        return Value(Int128{static_cast<uint64_t>(raw)});
      }
      return Value(int64_t{static_cast<uint32_t>(raw)});
    default: break;
  }
  int64_t value = 0;
  if (__builtin_mul_overflow(raw, factor_, &value)) return std::nullopt;
  return Value(value);
}

std::optional<Value> ParquetLeaf::FromBytes(const uint8_t* bytes, uint32_t size) const {
  if (bytes == nullptr && size > 0) return std::nullopt;
  std::string text(reinterpret_cast<const char*>(bytes), size);
  if (kind_ == LeafKind::kBytes) return Value(std::move(text));
  auto unscaled = iceberg::DecimalFromBytes(text);
  return unscaled ? std::optional<Value>(*unscaled) : std::nullopt;
}

void ParquetLeaf::AddBounds(const parquet::Statistics& statistics,
                            ColumnFacts* facts) const {
  if (opaque() || !statistics.HasMinMax() ||
      statistics.physical_type() != descriptor_->physical_type()) {
    return;
  }
  auto as_value = [](auto x) { return std::optional<Value>(Value(x)); };
  auto as_double = [](auto x) { return std::optional<Value>(static_cast<double>(x)); };
  auto as_integer = [this](auto x) { return FromInteger(x); };
  auto length = static_cast<uint32_t>(std::max(descriptor_->type_length(), 0));
  Bounds bounds;
  switch (descriptor_->physical_type()) {
    case Physical::BOOLEAN:
      bounds = Convert2<parquet::BooleanType>(statistics, as_value);
      break;
    case Physical::INT32:
      bounds = Convert2<parquet::Int32Type>(statistics, as_integer);
      break;
    case Physical::INT64:
      bounds = Convert2<parquet::Int64Type>(statistics, as_integer);
      break;
    case Physical::FLOAT:
      bounds = Convert2<parquet::FloatType>(statistics, as_double);
      break;
    case Physical::DOUBLE:
      bounds = Convert2<parquet::DoubleType>(statistics, as_double);
      break;
    case Physical::BYTE_ARRAY:
      bounds = Convert2<parquet::ByteArrayType>(
          statistics,
          [&](const parquet::ByteArray& x) { return FromBytes(x.ptr, x.len); });
      break;
    case Physical::FIXED_LEN_BYTE_ARRAY:
      bounds = Convert2<parquet::FLBAType>(
          statistics, [&](const parquet::FLBA& x) { return FromBytes(x.ptr, length); });
      break;
    default: return;
  }
  auto& [lower, upper] = bounds;
  // Where one of them is NaN, the other is not to be trusted either.
  if (!lower || !upper || !IsBound(type_, *lower) || !IsBound(type_, *upper)) return;
  facts->lower = std::move(lower);
  facts->upper = std::move(upper);
}

std::optional<int64_t> ParquetLeaf::ToInteger(const Value& value) const {
  Int128 number = kind_ == LeafKind::kDecimal || type_.id == TypeId::kDecimal
                      ? std::get<Int128>(value)
                      : Int128{std::get<int64_t>(value)};
  if (number % factor_ != 0) return std::nullopt;
  number /= factor_;
  bool narrow = descriptor_->physical_type() == Physical::INT32;
  if (kind_ == LeafKind::kUnsigned) {
    Int128 max = narrow ? Int128{std::numeric_limits<uint32_t>::max()}
                        : Int128{std::numeric_limits<uint64_t>::max()};
    if (number < 0 || number > max) return std::nullopt;
    return static_cast<int64_t>(static_cast<uint64_t>(number));
  }
  Int128 min = narrow ? Int128{std::numeric_limits<int32_t>::min()}
                      : Int128{std::numeric_limits<int64_t>::min()};
  Int128 max = narrow ? Int128{std::numeric_limits<int32_t>::max()}
                      : Int128{std::numeric_limits<int64_t>::max()};
  if (number < min || number > max) return std::nullopt;
  return static_cast<int64_t>(number);
}

bool ParquetLeaf::MayContain(const parquet::BloomFilter& bloom,
                             const Value& value) const {
  Physical::type physical = descriptor_->physical_type();
  switch (kind_) {
    case LeafKind::kOpaque:
    case LeafKind::kBoolean: return true;
    case LeafKind::kInteger:
    case LeafKind::kUnsigned:
    case LeafKind::kDecimal: {
      auto raw = ToInteger(value);
      if (!raw) return false;
      return bloom.FindHash(physical == Physical::INT32
                                ? bloom.Hash(static_cast<int32_t>(*raw))
                                : bloom.Hash(*raw));
    }
    case LeafKind::kFloat: {
      double number = std::get<double>(value);
      // Both zeros are equal and hash differently.
      if (number == 0 && FindFloat(bloom, physical, -0.0)) return true;
      return FindFloat(bloom, physical, number);
    }
    case LeafKind::kDecimalBytes: {
      std::string bytes = BigEndian(std::get<Int128>(value), descriptor_->type_length());
      return FindFixed(bloom, bytes);
    }
    case LeafKind::kBytes: break;
  }
  const auto& text = std::get<std::string>(value);
  if (physical == Physical::FIXED_LEN_BYTE_ARRAY) return FindFixed(bloom, text);
  parquet::ByteArray bytes(static_cast<uint32_t>(text.size()),
                           reinterpret_cast<const uint8_t*>(text.data()));
  return bloom.FindHash(bloom.Hash(&bytes));
}

}  // namespace forebay::table::filter
