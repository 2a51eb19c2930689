#include "table/iceberg/partition_reader.h"

#include <fmt/format.h>

#include <string>

#include "table/iceberg/decimal.h"

namespace forebay::table::iceberg {
namespace {

using avro::Kind;

// How Avro writers spell names with characters that Avro does not allow: "a b" becomes
// "a_x20b", "1st" becomes "_1st".
std::string AvroName(std::string_view name) {
  std::string out;
  for (char c : name) {
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    bool digit = c >= '0' && c <= '9';
    if (letter || (digit && !out.empty())) {
      out += c;
    } else if (digit) {
      out += '_';
      out += c;
    } else {
      out += fmt::format("_x{:X}", static_cast<uint8_t>(c));
    }
  }
  return out;
}

int FindSpecIndex(const avro::Schema& record, size_t position,
                  const PartitionSpec& spec) {
  const avro::Field& field = record.fields[position];
  for (size_t i = 0; i < spec.fields.size(); ++i) {
    if (field.id >= 0 && spec.fields[i].field_id == field.id) return static_cast<int>(i);
  }
  for (size_t i = 0; i < spec.fields.size(); ++i) {
    const std::string& name = spec.fields[i].name;
    if (field.name == name || field.name == AvroName(name)) return static_cast<int>(i);
  }
  bool by_position = field.id < 0 && record.fields.size() == spec.fields.size();
  return by_position ? static_cast<int>(position) : -1;
}

bool Fits(const Type& result, Kind kind) {
  bool integer = kind == Kind::kInt || kind == Kind::kLong;
  bool bytes = kind == Kind::kBytes || kind == Kind::kFixed;
  switch (result.id) {
    case TypeId::kBoolean: return kind == Kind::kBoolean;
    case TypeId::kFloat:
    case TypeId::kDouble: return kind == Kind::kFloat || kind == Kind::kDouble;
    case TypeId::kDecimal:
    case TypeId::kFixed:
    case TypeId::kBinary: return bytes;
    case TypeId::kUuid: return bytes || kind == Kind::kString;
    case TypeId::kString: return kind == Kind::kString;
    case TypeId::kUnknown: return true;
    default: return integer && result.primitive();
  }
}

Value TextValue(const Type& result, std::string_view text) {
  if (result.id != TypeId::kUuid) return std::string(text);
  auto uuid = ValueFromJson(result, fmt::format("\"{}\"", text));
  return uuid.ok() ? *std::move(uuid) : Value();
}

}  // namespace

Result<PartitionReader> PartitionReader::Make(const avro::Schema& record,
                                              const TableMetadata& metadata,
                                              const PartitionSpec& spec) {
  PartitionReader reader;
  for (size_t i = 0; i < record.fields.size(); ++i) {
    Column column;
    column.field = &record.fields[i].type;
    column.null_branch = column.field->null_branch();
    column.type = &column.field->nullable_type();
    column.spec_index = FindSpecIndex(record, i, spec);
    column.plain_fixed =
        column.type->kind == Kind::kFixed && column.type->logical == avro::Logical::kNone;
    reader.has_fixed_ = reader.has_fixed_ || column.plain_fixed;
    if (column.spec_index >= 0) {
      const PartitionField& field = spec.fields[column.spec_index];
      const Type* source = metadata.SourceType(field.source_id);
      column.result = source == nullptr ? Type() : field.transform.ResultType(*source);
      // Values of void fields are all null, whatever their type.
      if (field.transform.kind == TransformKind::kVoid) column.spec_index = -1;
      if (column.spec_index >= 0 && !Fits(column.result, column.type->kind)) {
        return Status::Corrupt(fmt::format(
            "a partition field has an unexpected Avro type: field={} expected={} got={}",
            field.name, column.result.ToString(), avro::KindName(column.type->kind)));
      }
    }
    reader.columns_.push_back(std::move(column));
  }
  return reader;
}

void PartitionReader::Read(avro::Decoder& decoder, std::vector<Value>* values) const {
  for (const Column& column : columns_) {
    if (column.plain_fixed && fixed_has_length_) {
      if (!decoder.Present(column.null_branch)) continue;
      std::string_view bytes = decoder.Bytes();
      if (bytes.size() != static_cast<size_t>(column.type->size)) decoder.Fail();
      if (column.spec_index >= 0) (*values)[column.spec_index] = std::string(bytes);
    } else if (column.spec_index < 0) {
      decoder.Skip(*column.field);
    } else if (decoder.Present(column.null_branch)) {
      (*values)[column.spec_index] = ReadValue(decoder, column);
    }
  }
}

Value PartitionReader::ReadValue(avro::Decoder& decoder, const Column& column) const {
  switch (column.type->kind) {
    case Kind::kBoolean: return decoder.Boolean();
    case Kind::kInt: return static_cast<int64_t>(decoder.Int());
    case Kind::kLong: return decoder.Long();
    case Kind::kFloat: return static_cast<double>(decoder.Float());
    case Kind::kDouble: return decoder.Double();
    case Kind::kString: return TextValue(column.result, decoder.Bytes());
    case Kind::kBytes:
    case Kind::kFixed: {
      std::string_view bytes = column.type->kind == Kind::kBytes
                                   ? decoder.Bytes()
                                   : decoder.Fixed(column.type->size);
      bool decimal = column.result.id == TypeId::kDecimal ||
                     (column.result.id == TypeId::kUnknown &&
                      column.type->logical == avro::Logical::kDecimal);
      if (!decimal) return std::string(bytes);
      auto unscaled = DecimalFromBytes(bytes);
      if (!unscaled) return decoder.Fail(), Value();
      return *unscaled;
    }
    default: decoder.Skip(*column.type); return {};
  }
}

}  // namespace forebay::table::iceberg
