#include "table/avro/decoder.h"

#include <string>

namespace forebay::table::avro {

int64_t Decoder::LongSlow() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (next_ == end_) return Fail(), 0;
    auto byte = static_cast<uint8_t>(*next_++);
    // The tenth byte has one bit left; what else it holds is dropped, as others do.
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) {
      return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
    }
  }
  return Fail(), 0;
}

int64_t Decoder::ItemCount(int64_t item_bytes_min) {
  int64_t count = Long();
  if (count < 0) {
    // A block that also says its size in bytes, for skipping.
    if (count == INT64_MIN) return Fail(), 0;
    count = -count;
    int64_t size = Long();
    if (size < 0 || static_cast<uint64_t>(size) > remaining()) return Fail(), 0;
  }
  if (item_bytes_min > 0) {
    if (count > static_cast<int64_t>(remaining()) / item_bytes_min) return Fail(), 0;
  } else {
    if (count > empty_items_left_) return Fail(), 0;
    empty_items_left_ -= count;
  }
  return count;
}

void Decoder::SkipItems(const Schema& schema) {
  bool map = schema.kind == Kind::kMap;
  const Schema& item = schema.children[0];
  while (ok_) {
    int64_t count = Long();
    if (count == 0) return;
    if (count < 0) {
      Bytes();
      continue;
    }
    if (!map && item.bytes_min == 0) continue;  // nothing to step over, however many
    if (count > static_cast<int64_t>(remaining())) return Fail();
    for (int64_t i = 0; i < count && ok_; ++i) {
      if (map) Bytes();
      Skip(item);
    }
  }
}

void Decoder::Skip(const Schema& schema) {
  switch (schema.kind) {
    case Kind::kNull: return;
    case Kind::kBoolean: Fixed(1); return;
    case Kind::kInt:
    case Kind::kLong:
    case Kind::kEnum: Long(); return;
    case Kind::kFloat: Fixed(4); return;
    case Kind::kDouble: Fixed(8); return;
    case Kind::kBytes:
    case Kind::kString: Bytes(); return;
    case Kind::kFixed: Fixed(static_cast<uint64_t>(schema.size)); return;
    case Kind::kArray:
    case Kind::kMap: SkipItems(schema); return;
    case Kind::kUnion:
      Skip(schema.children[Branch(static_cast<int64_t>(schema.children.size()))]);
      return;
    case Kind::kRecord:
      for (const Field& field : schema.fields) {
        if (!ok_) return;
        Skip(field.type);
      }
      return;
  }
}

Status Decoder::Finish(std::string_view what) const {
  if (!ok_) return Status::Corrupt(std::string(what) + " is not valid Avro");
  if (next_ != end_) {
    return Status::Corrupt(std::string(what) + " has bytes left after its last value");
  }
  return Status::OK();
}

}  // namespace forebay::table::avro
