// Random types and random columns of them, for tests. Every buffer is exactly as long as
// it must be, so that a sanitizer sees a kernel that reads further.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "model/schema.h"
#include "reader/ipc_layout.h"

namespace forebay::reader {

inline model::Field MakeField(std::string name, std::string format,
                              std::vector<model::Field> children = {}) {
  model::Field field;
  field.name = std::move(name);
  field.format = std::move(format);
  field.children = std::move(children);
  return field;
}

class RandomChunks {
 public:
  explicit RandomChunks(uint64_t seed) : random_(seed) {}

  uint64_t Below(uint64_t bound) { return bound == 0 ? 0 : random_() % bound; }

  // At most `depth` levels of nesting.
  model::Field Field(int depth, const std::string& name = "c") {
    constexpr const char* kFlat[] = {
        "n", "b", "c",   "S",   "i",    "f",          "l",      "g",       "u",  "U",
        "z", "Z", "w:3", "w:0", "w:16", "d:38,2,256", "w:1100", "tsu:UTC", "tin"};
    constexpr const char* kNested[] = {"+l", "+L", "+w:3", "+w:0", "+s", "+m"};
    model::Field field = MakeField(name, "");
    if (depth == 0 || Below(3) == 0) {
      field.format = kFlat[Below(std::size(kFlat))];
      return field;
    }
    field.format = kNested[Below(std::size(kNested))];
    if (field.format == "+m") {
      model::Field entries =
          MakeField("entries", "+s", {Field(0, "key"), Field(depth - 1, "value")});
      entries.nullable = false;
      field.children = {entries};
      return field;
    }
    uint64_t children = field.format == "+s" ? Below(4) : 1;
    for (uint64_t i = 0; i < children; ++i) {
      field.children.push_back(Field(depth - 1, "c" + std::to_string(i)));
    }
    return field;
  }

  ChunkColumn Make(const model::Field& field, uint64_t length) {
    ChunkColumn column;
    column.type = LayoutOf(field).ValueOrDie();
    column.length = length;
    AddValidity(&column);
    uint64_t child_length = length;
    switch (column.type.layout) {
      case Layout::kNull: column.null_count = length; break;
      case Layout::kBool: AddValues(&column, (length + 7) / 8); break;
      case Layout::kFixed: AddValues(&column, length * column.type.width); break;
      case Layout::kBinary32:
      case Layout::kBinary64: AddValues(&column, AddOffsets(&column, 30)); break;
      case Layout::kList32:
      case Layout::kList64: child_length = AddOffsets(&column, 4); break;
      case Layout::kFixedList: child_length = length * column.type.width; break;
      case Layout::kStruct: break;
    }
    for (const model::Field& child : field.children) {
      column.children.push_back(Make(child, child_length + Below(2)));
    }
    return column;
  }

 private:
  uint8_t* Bytes(uint64_t size) {
    buffers_.emplace_back(new uint8_t[size]);
    uint8_t* data = buffers_.back().get();
    for (uint64_t i = 0; i < size; ++i) data[i] = static_cast<uint8_t>(random_());
    return data;
  }
  void AddValidity(ChunkColumn* column) {
    if (Below(2) == 0 || column->type.layout == Layout::kNull) return;
    column->validity = Bytes((column->length + 7) / 8);
    for (uint64_t i = 0; i < column->length; ++i) {
      column->null_count += (column->validity[i / 8] >> (i % 8) & 1) == 0;
    }
    if (column->null_count == 0) column->validity = nullptr;
  }
  void AddValues(ChunkColumn* column, uint64_t size) {
    column->values = Bytes(size);
    column->values_size = size;
  }
  // Ascending, sometimes from above 0; returns the last.
  uint64_t AddOffsets(ChunkColumn* column, uint64_t step_max) {
    uint64_t width = OffsetWidth(column->type.layout);
    uint8_t* to = Bytes((column->length + 1) * width);
    uint64_t at = Below(3);
    for (uint64_t i = 0; i <= column->length; ++i) {
      std::memcpy(to + i * width, &at, width);
      if (i != column->length) at += Below(step_max + 1) * Below(2);
    }
    column->offsets = to;
    return at;
  }

  std::mt19937_64 random_;
  std::deque<std::unique_ptr<uint8_t[]>> buffers_;
};

}  // namespace forebay::reader
