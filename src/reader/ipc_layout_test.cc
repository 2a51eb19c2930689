#include "reader/ipc_layout.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

#include "reader/column_text.h"
#include "reader/gather.h"
#include "reader/random_chunk.h"
#include "support/types_chunk.h"

namespace forebay::reader {
namespace {

using testing_support::F;
using testing_support::Fields;

const std::string kData = std::string(FOREBAY_ROOT) + "/tests/data/chunks/";

std::string ReadFile(const std::string& name) {
  std::ifstream in(kData + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<const model::Field*> Pointers(const std::vector<model::Field>& fields) {
  std::vector<const model::Field*> pointers;
  for (const model::Field& field : fields) pointers.push_back(&field);
  return pointers;
}

// The bytes in memory of their own size, so that a sanitizer sees every step outside.
struct Exact {
  explicit Exact(std::string_view from) : size(from.size()), bytes(new char[size]) {
    std::memcpy(bytes.get(), from.data(), size);
  }
  std::string_view view() const { return {bytes.get(), size}; }
  size_t size;
  std::unique_ptr<char[]> bytes;
};

TEST(ParseChunk, FindsEveryValueOfAFileThatPyarrowWrote) {
  std::vector<model::Field> fields = Fields();
  Exact file(ReadFile("types.arrow"));
  auto columns = ParseChunk(file.view(), Pointers(fields), 5);
  ASSERT_TRUE(columns.ok()) << columns.status();
  ASSERT_EQ(columns->size(), fields.size());
  std::istringstream expected(ReadFile("types.txt"));
  for (size_t i = 0; i < fields.size(); ++i) {
    std::string line;
    std::getline(expected, line);
    Column column = SliceChunk(fields[i], (*columns)[i], 0, 5, nullptr);
    EXPECT_EQ(ColumnText(column), line) << fields[i].format;
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*columns)[i].values) % 8, 0U);
  }
}

TEST(ParseChunk, ReadsAChunkWithoutRows) {
  std::vector<model::Field> fields = Fields();
  Exact file(ReadFile("empty.arrow"));
  auto columns = ParseChunk(file.view(), Pointers(fields), 0);
  ASSERT_TRUE(columns.ok()) << columns.status();
  for (const ChunkColumn& column : *columns) EXPECT_EQ(column.length, 0U);
}

TEST(ParseChunk, RefusesAnotherSchemaOrRowCount) {
  std::vector<model::Field> fields = Fields();
  Exact file(ReadFile("types.arrow"));
  auto code = [&](const std::vector<model::Field>& with, uint64_t rows) {
    return ParseChunk(file.view(), Pointers(with), rows).status().code();
  };
  EXPECT_EQ(code(fields, 6), StatusCode::kCorrupt);
  fields.push_back(F("l"));
  EXPECT_EQ(code(fields, 5), StatusCode::kCorrupt);
  fields.resize(fields.size() - 2);
  EXPECT_EQ(code(fields, 5), StatusCode::kCorrupt);
  fields = Fields();
  fields[6] = F("w:4000");
  EXPECT_EQ(code(fields, 5), StatusCode::kCorrupt);
}

TEST(ParseChunk, RefusesEveryTruncation) {
  std::vector<model::Field> fields = Fields();
  std::string whole = ReadFile("types.arrow");
  for (size_t size = 0; size < whole.size(); ++size) {
    Exact part(std::string_view(whole).substr(0, size));
    Status status = ParseChunk(part.view(), Pointers(fields), 5).status();
    ASSERT_EQ(status.code(), StatusCode::kCorrupt) << size;
  }
}

// What a column reaches into must be there.
void ExpectInside(const ChunkColumn& column, std::string_view file) {
  auto* begin = reinterpret_cast<const uint8_t*>(file.data());
  if (column.values != nullptr) {
    ASSERT_GE(column.values, begin);
    ASSERT_LE(column.values + column.values_size, begin + file.size());
  }
  uint64_t needed = column.type.layout == Layout::kStruct ? column.length : 0;
  if (column.type.layout == Layout::kFixedList)
    needed = column.length * column.type.width;
  if (HasOffsets(column.type.layout)) {
    uint64_t width = OffsetWidth(column.type.layout);
    std::memcpy(&needed, column.offsets + column.length * width, width);
  }
  for (const ChunkColumn& child : column.children) {
    ASSERT_GE(child.length, needed);
    ExpectInside(child, file);
  }
}

// Whatever the bytes say: columns that stay inside them and rows that can be gathered, or
// kCorrupt.
TEST(ParseChunk, StaysInsideTheBytesWhateverTheySay) {
  std::vector<model::Field> fields = Fields();
  std::string whole = ReadFile("types.arrow");
  auto pool = BufferPool::Make();
  std::vector<ColumnGatherer> gatherers;
  for (const auto& field : fields)
    gatherers.push_back(*ColumnGatherer::Make(field, pool));
  std::vector<RowAddress> shuffled{{0, 4}, {0, 2}, {0, 0}, {0, 3}, {0, 1}};
  std::vector<RowAddress> run{{0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 4}};
  constexpr uint64_t kSeed = 41;
  std::mt19937_64 random(kSeed);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    Exact file(whole);
    for (uint64_t k = 0, n = random() % 3 + 1; k < n; ++k) {
      constexpr uint8_t kBytes[] = {0, 1, 0x7F, 0x80, 0xFF};
      file.bytes[random() % file.size] = static_cast<char>(kBytes[random() % 5]);
    }
    auto columns = ParseChunk(file.view(), Pointers(fields), 5);
    if (!columns.ok()) {
      ++refused;
      ASSERT_EQ(columns.status().code(), StatusCode::kCorrupt) << "seed " << kSeed;
      continue;
    }
    for (size_t c = 0; c < fields.size(); ++c) {
      ExpectInside((*columns)[c], file.view());
      const ChunkColumn* source[] = {&(*columns)[c]};
      for (const auto& rows : {shuffled, run}) {
        auto gathered = gatherers[c].Gather(source, rows);
        ASSERT_TRUE(gathered.ok() || gathered.status().code() == StatusCode::kCorrupt);
      }
    }
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(refused, 1000);
}

TEST(LayoutOf, KnowsWidths) {
  EXPECT_EQ(*LayoutOf(F("tsn:Europe/Berlin")), (TypeLayout{Layout::kFixed, 8}));
  EXPECT_EQ(*LayoutOf(F("d:5,2,32")), (TypeLayout{Layout::kFixed, 4}));
  EXPECT_EQ(*LayoutOf(F("w:12")), (TypeLayout{Layout::kFixed, 12}));
  EXPECT_EQ(*LayoutOf(F("+w:7", {F("b")})), (TypeLayout{Layout::kFixedList, 7}));
}

TEST(LayoutOf, RefusesWhatIsNoType) {
  for (const char* format :
       {"", "q", "w:", "w:-1", "w:x", "w:99999999999", "d:1", "+w:", "l:"}) {
    EXPECT_EQ(LayoutOf(F(format)).status().code(), StatusCode::kInvalid) << format;
  }
  EXPECT_EQ(LayoutOf(F("+l")).status().code(), StatusCode::kInvalid);
  EXPECT_EQ(LayoutOf(F("l", {F("l")})).status().code(), StatusCode::kInvalid);
  EXPECT_EQ(LayoutOf(F("vu")).status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace forebay::reader
