// Values as text, for tests: a slow and simple second opinion on what a column holds.
// Fixed widths are hex of their bytes, bools 0 or 1, strings 'hex', lists [..], structs
// {..}.
#pragma once

#include <cstring>
#include <string>

#include "reader/column.h"

namespace forebay::reader {

inline std::string HexText(const uint8_t* bytes, uint64_t size) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (uint64_t i = 0; i < size; ++i) {
    out += kDigits[bytes[i] >> 4];
    out += kDigits[bytes[i] & 15];
  }
  return out;
}

inline uint64_t OffsetOf(const Column& column, uint64_t i) {
  uint64_t width = OffsetWidth(column.type.layout);
  uint64_t value = 0;
  std::memcpy(&value, column.buffers[1].data + (column.offset + i) * width, width);
  return value;
}

inline std::string ValueText(const Column& column, uint64_t i);

inline std::string ItemsText(const Column& child, uint64_t first, uint64_t end) {
  std::string out;
  for (uint64_t i = first; i < end; ++i) {
    if (i != first) out += ',';
    out += ValueText(child, i);
  }
  return "[" + out + "]";
}

inline std::string StructText(const Column& column, uint64_t i) {
  std::string out;
  for (const Column& child : column.children) {
    if (!out.empty()) out += ',';
    out += ValueText(child, i);
  }
  return "{" + out + "}";
}

inline std::string ValueText(const Column& column, uint64_t i) {
  if (column.IsNull(i)) return "null";
  uint64_t at = column.offset + i, width = column.type.width;
  switch (column.type.layout) {
    case Layout::kNull: return "null";
    case Layout::kBool: return column.values()[at / 8] >> (at % 8) & 1 ? "1" : "0";
    case Layout::kFixed: return HexText(column.values() + at * width, width);
    case Layout::kBinary32:
    case Layout::kBinary64: {
      uint64_t begin = OffsetOf(column, i), end = OffsetOf(column, i + 1);
      return "'" + HexText(column.buffers[2].data + begin, end - begin) + "'";
    }
    case Layout::kList32:
    case Layout::kList64:
      return ItemsText(column.children[0], OffsetOf(column, i), OffsetOf(column, i + 1));
    case Layout::kFixedList:
      return ItemsText(column.children[0], at * width, (at + 1) * width);
    case Layout::kStruct: return StructText(column, at);
  }
  return "?";
}

inline std::string ColumnText(const Column& column) {
  std::string out;
  for (uint64_t i = 0; i < column.length; ++i) {
    if (i != 0) out += ' ';
    out += ValueText(column, i);
  }
  return out;
}

}  // namespace forebay::reader
