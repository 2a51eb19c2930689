// Avro files for tests.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace forebay::table {

// The binary encoding of values, one after another.
class AvroValues {
 public:
  AvroValues& Long(int64_t value) {
    auto bits = (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
    for (; bits >= 128; bits >>= 7) out_ += static_cast<char>(bits | 128);
    out_ += static_cast<char>(bits);
    return *this;
  }
  AvroValues& Text(std::string_view text) {
    Long(static_cast<int64_t>(text.size()));
    out_ += text;
    return *this;
  }
  AvroValues& Raw(std::string_view bytes) {
    out_ += bytes;
    return *this;
  }
  template <typename T>
  AvroValues& Plain(T value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    return *this;
  }
  const std::string& bytes() const { return out_; }

 private:
  std::string out_;
};

// A container without compression.
class AvroFileWriter {
 public:
  explicit AvroFileWriter(std::string_view schema_json) {
    out_ = AvroValues()
               .Raw("Obj\x01")
               .Long(2)
               .Text("avro.schema")
               .Text(schema_json)
               .Text("avro.codec")
               .Text("null")
               .Long(0)
               .Raw(kSync)
               .bytes();
  }
  void AddBlock(int64_t rows, const std::string& bytes) {
    out_ += AvroValues()
                .Long(rows)
                .Long(static_cast<int64_t>(bytes.size()))
                .Raw(bytes)
                .Raw(kSync)
                .bytes();
  }
  const std::string& bytes() const { return out_; }

 private:
  static constexpr std::string_view kSync = "0123456789abcdef";
  std::string out_;
};

}  // namespace forebay::table
