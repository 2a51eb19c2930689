#include "model/schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace forebay::model {
namespace {

constexpr int kNestingMax = 64;

using Metadata = std::vector<std::pair<std::string, std::string>>;

void PutMetadata(Encoder& out, const Metadata& metadata) {
  out.Put<uint32_t>(static_cast<uint32_t>(metadata.size()));
  for (const auto& [key, value] : metadata) {
    out.PutString(key);
    out.PutString(value);
  }
}

Metadata GetMetadata(Decoder& in) {
  Metadata metadata;
  for (uint32_t left = in.GetCount(8); left > 0 && in.ok(); --left) {
    std::string key = in.GetString();
    metadata.emplace_back(std::move(key), in.GetString());
  }
  return metadata;
}

void PutField(Encoder& out, const Field& field) {
  out.PutString(field.name);
  out.PutString(field.format);
  out.Put<uint8_t>(field.nullable ? 1 : 0);
  out.Put<int32_t>(field.id);
  out.Put<uint8_t>(field.hidden ? 1 : 0);
  PutMetadata(out, field.metadata);
  out.Put<uint32_t>(static_cast<uint32_t>(field.children.size()));
  for (const Field& child : field.children) PutField(out, child);
}

// Fields grow one by one as their bytes are read, never by a count alone: a forged count
// at every level of nesting would ask for far more memory than there are bytes.
Status GetFields(Decoder& in, int depth, std::vector<Field>* fields) {
  if (depth > kNestingMax) return Status::Corrupt("the schema is nested too deeply");
  for (uint32_t left = in.GetCount(22); left > 0 && in.ok(); --left) {
    Field& field = fields->emplace_back();
    field.name = in.GetString();
    field.format = in.GetString();
    field.nullable = in.Get<uint8_t>() != 0;
    field.id = in.Get<int32_t>();
    field.hidden = in.Get<uint8_t>() != 0;
    field.metadata = GetMetadata(in);
    FB_RETURN_NOT_OK(GetFields(in, depth + 1, &field.children));
  }
  return Status::OK();
}

}  // namespace

void Field::EncodeType(Encoder& out) const {
  out.PutString(ChunkName());
  out.PutString(format);
  out.Put<uint32_t>(static_cast<uint32_t>(children.size()));
  for (const Field& child : children) child.EncodeType(out);
}

std::string Field::ChunkName() const { return id < 0 ? name : fmt::format("id{}", id); }

std::optional<uint32_t> Schema::Find(std::string_view name) const {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) return static_cast<uint32_t>(i);
  }
  return std::nullopt;
}

std::string Schema::Encode() const {
  Encoder out;
  PutMetadata(out, metadata);
  out.Put<uint32_t>(static_cast<uint32_t>(fields.size()));
  for (const Field& field : fields) PutField(out, field);
  return out.Take();
}

Result<Schema> Schema::Decode(std::string_view bytes) {
  Decoder in(bytes);
  Schema schema;
  schema.metadata = GetMetadata(in);
  FB_RETURN_NOT_OK(GetFields(in, 0, &schema.fields));
  FB_RETURN_NOT_OK(in.Finish("the schema"));
  return schema;
}

Result<std::vector<uint32_t>> Project(const Schema& schema,
                                      const std::vector<std::string>& columns) {
  std::vector<uint32_t> out;
  if (columns.empty()) {
    for (uint32_t i = 0; i < schema.fields.size(); ++i) {
      if (!schema.fields[i].hidden) out.push_back(i);
    }
    return out;
  }
  for (const std::string& name : columns) {
    auto index = schema.Find(name);
    if (!index) {
      std::vector<std::string_view> names;
      for (const Field& field : schema.fields) names.push_back(field.name);
      return Status::Invalid(fmt::format("there is no column '{}'; the columns are: {}",
                                         name, fmt::join(names, ", ")));
    }
    out.push_back(*index);
  }
  std::ranges::sort(out);
  auto twice = std::ranges::adjacent_find(out);
  if (twice != out.end()) {
    return Status::Invalid(
        fmt::format("column '{}' is asked for twice", schema.fields[*twice].name));
  }
  return out;
}

}  // namespace forebay::model
