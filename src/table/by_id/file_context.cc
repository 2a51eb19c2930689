#include "table/by_id/file_context.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"

namespace forebay::table::by_id {
namespace {

using iceberg::Value;

void PutValue(Encoder& out, const Value& value) {
  out.Put<uint8_t>(static_cast<uint8_t>(value.index()));
  if (auto* v = std::get_if<bool>(&value)) out.Put<uint8_t>(*v ? 1 : 0);
  if (auto* v = std::get_if<int64_t>(&value)) out.Put<int64_t>(*v);
  if (auto* v = std::get_if<double>(&value)) out.Put<double>(*v);
  if (auto* v = std::get_if<iceberg::Int128>(&value)) {
    out.Put<uint64_t>(static_cast<uint64_t>(*v));
    out.Put<int64_t>(static_cast<int64_t>(*v >> 64));
  }
  if (auto* v = std::get_if<std::string>(&value)) out.PutString(*v);
}

Value GetValue(Decoder& in) {
  switch (in.Get<uint8_t>()) {
    case 1: return in.Get<uint8_t>() != 0;
    case 2: return in.Get<int64_t>();
    case 3: return in.Get<double>();
    case 4: {
      auto low = in.Get<uint64_t>();
      auto high = static_cast<iceberg::Int128>(in.Get<int64_t>());
      return Value(static_cast<iceberg::Int128>((high << 64) | low));
    }
    case 5: return in.GetString();
    default: return {};
  }
}

// A date's partition value is in days although the column may be a timestamp by now.
bool WasPromotedFromDate(const iceberg::TableMetadata& metadata,
                         const iceberg::Field& field) {
  if (field.type.id == iceberg::TypeId::kDate) return false;
  return std::ranges::any_of(metadata.schemas, [&](const iceberg::Schema& schema) {
    const iceberg::Field* other = schema.FindById(field.id);
    return other != nullptr && other->type.id == iceberg::TypeId::kDate;
  });
}

}  // namespace

std::string FileContext::Encode() const {
  Encoder out;
  out.PutString(path);
  out.Put<int32_t>(spec_id);
  out.Put<int64_t>(sequence_number);
  out.Put<uint8_t>(first_row_id ? 1 : 0);
  out.Put<int64_t>(first_row_id.value_or(0));
  out.Put<uint32_t>(static_cast<uint32_t>(constants.size()));
  for (const auto& [id, value] : constants) {
    out.Put<int32_t>(id);
    PutValue(out, value);
  }
  return out.Take();
}

Result<FileContext> FileContext::Decode(std::string_view bytes) {
  Decoder in(bytes);
  FileContext out;
  out.path = in.GetString();
  out.spec_id = in.Get<int32_t>();
  out.sequence_number = in.Get<int64_t>();
  bool has_first_row_id = in.Get<uint8_t>() != 0;
  auto first_row_id = in.Get<int64_t>();
  if (has_first_row_id) out.first_row_id = first_row_id;
  for (uint32_t left = in.GetCount(5); left > 0 && in.ok(); --left) {
    auto id = in.Get<int32_t>();
    out.constants.emplace_back(id, GetValue(in));
  }
  FB_RETURN_NOT_OK(in.Finish("what the manifest says of a data file"));
  return out;
}

Result<FileContext> ContextOf(const iceberg::TableMetadata& metadata,
                              const iceberg::Schema& schema,
                              const iceberg::DataFile& file) {
  const iceberg::PartitionSpec* spec = metadata.FindSpec(file.spec_id);
  if (spec == nullptr || spec->fields.size() != file.partition.size()) {
    return Status::Corrupt(fmt::format(
        "{}: its manifest gives it {} partition values of spec {}, which the table does "
        "not have",
        file.path, file.partition.size(), file.spec_id));
  }
  FileContext out{.path = file.path,
                  .spec_id = file.spec_id,
                  .sequence_number = file.sequence_number,
                  .first_row_id = file.first_row_id,
                  .constants = {}};
  for (size_t i = 0; i < spec->fields.size(); ++i) {
    const iceberg::PartitionField& part = spec->fields[i];
    if (part.transform.kind != iceberg::TransformKind::kIdentity) continue;
    const iceberg::Field* field = schema.FindById(part.source_id);
    if (field == nullptr || !field->type.primitive()) continue;
    if (WasPromotedFromDate(metadata, *field)) continue;
    out.constants.emplace_back(part.source_id, file.partition[i]);
  }
  return out;
}

}  // namespace forebay::table::by_id
