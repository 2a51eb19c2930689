#include "table/iceberg/projection.h"

#include <fmt/format.h>

namespace forebay::table::iceberg {
namespace {

using avro::Kind;

bool Fits(Shape shape, const avro::Schema& type) {
  switch (shape) {
    case Shape::kBoolean: return type.kind == Kind::kBoolean;
    case Shape::kInteger: return type.kind == Kind::kInt || type.kind == Kind::kLong;
    case Shape::kText: return type.kind == Kind::kString || type.kind == Kind::kBytes;
    case Shape::kBytes: return type.kind == Kind::kBytes || type.kind == Kind::kString;
    case Shape::kRecord: return type.kind == Kind::kRecord;
    case Shape::kList: return type.kind == Kind::kArray;
    case Shape::kIdMap:
      return type.kind == Kind::kArray &&
             type.children[0].nullable_type().kind == Kind::kRecord;
  }
  return false;
}

bool IsMatch(const avro::Field& field, const WantedField& wanted) {
  return field.id >= 0 ? field.id == wanted.id : field.name == wanted.name;
}

}  // namespace

Result<std::vector<Step>> Project(const avro::Schema& record,
                                  std::span<const WantedField> wanted) {
  if (record.kind != Kind::kRecord) {
    return Status::Corrupt("the Avro file does not hold records");
  }
  std::vector<Step> steps;
  std::vector<bool> found(wanted.size(), false);
  for (const avro::Field& field : record.fields) {
    Step step;
    step.field = &field.type;
    step.null_branch = field.type.null_branch();
    step.type = &field.type.nullable_type();
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (found[i] || !IsMatch(field, wanted[i])) continue;
      if (step.type->kind == Kind::kNull) continue;  // never has a value
      if (!Fits(wanted[i].shape, *step.type)) {
        return Status::Corrupt(
            fmt::format("a field has an unexpected Avro type: field={} type={}",
                        wanted[i].name, avro::KindName(step.type->kind)));
      }
      found[i] = true;
      step.slot = wanted[i].slot;
      break;
    }
    steps.push_back(step);
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (found[i] || !wanted[i].required) continue;
    return Status::Corrupt(fmt::format("the Avro records of {} lack a required field: {}",
                                       record.name.empty() ? "the file" : record.name,
                                       wanted[i].name));
  }
  return steps;
}

Result<MapSteps> ProjectMap(const avro::Schema& array, Shape value_shape) {
  const avro::Schema& item = array.children[0];
  MapSteps map;
  map.item_bytes_min = item.bytes_min;
  map.item_null_branch = item.null_branch();
  for (const avro::Field& field : item.nullable_type().fields) {
    Step step;
    step.field = &field.type;
    step.null_branch = field.type.null_branch();
    step.type = &field.type.nullable_type();
    bool key = field.name == "key";
    if (key || field.name == "value") {
      if (!Fits(key ? Shape::kInteger : value_shape, *step.type)) {
        return Status::Corrupt("a map of column metrics has unexpected Avro types");
      }
      step.slot = key ? MapSteps::kKey : MapSteps::kValue;
    }
    map.steps.push_back(step);
  }
  return map;
}

}  // namespace forebay::table::iceberg
