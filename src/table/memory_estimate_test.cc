// What a unit takes at its peak, against what it said beforehand: reservations of memory
// are made by that (docs/adr/0020).
#include <arrow/util/compression.h>

#include <random>

#include "base/size.h"
#include "table/avro/sample_avro.h"
#include "table/capped_memory_pool.h"
#include "table/files/footer_cache.h"
#include "table/sample_tables.h"

namespace forebay::table {
namespace {

// Part of the memory that nobody reserves (kSpareShare in cache/engine.cc).
constexpr int64_t kSpareShare = 16;
// Estimates are rather too high than too low, but not so high that nothing runs at once.
constexpr int64_t kTooHighTimes = 8;
constexpr int64_t kTooHighBytes = 2 * kMiB;

struct Peaks {
  int64_t opening = 0;  // what was said
  int64_t reading = 0;
  int64_t opened = 0;  // what it was
  int64_t all = 0;
};

constexpr int64_t kNoLimit = int64_t{1} << 40;

Peaks ReadUnit(const Sample& sample, const ManifestPtr& manifest, uint32_t unit,
               const model::Projection& columns, const DecodeOptions& options) {
  const arrow::MemoryPool& pool = *options.memory_pool;
  auto reader = *OpenUnit(sample.source, manifest, unit, columns, options);
  Peaks peaks{.opening = static_cast<int64_t>(reader->OpenMemoryBytes())};
  peaks.reading = static_cast<int64_t>(reader->MemoryBytes().ValueOrDie());
  peaks.opened = pool.max_memory();
  BatchPtr last;
  do {
    last = reader->Next().ValueOrDie();
  } while (last != nullptr);
  peaks.all = pool.max_memory();
  return peaks;
}

int64_t WithSpare(int64_t bytes) { return bytes + bytes / kSpareShare; }

void ExpectGoodEstimates(const std::string& what, const Sample& sample,
                         const std::vector<std::string>& names = {}) {
  auto manifest = sample.Plan();
  ASSERT_TRUE(manifest.ok()) << what << ": " << manifest.status();
  auto columns = *model::Project((*manifest)->schema(), names);
  for (uint32_t unit = 0; unit < (*manifest)->units().size(); ++unit) {
    SCOPED_TRACE(fmt::format("{}, unit {}", what, unit));
    CappedMemoryPool pool(kNoLimit);
    CappedMemoryPool pool_again(kNoLimit);
    FooterCache footers;
    Peaks first = ReadUnit(sample, *manifest, unit, columns,
                           {.memory_pool = &pool, .footers = &footers});
    EXPECT_GE(WithSpare(first.opening), first.opened);
    // A fill keeps what it opened the file with where that is more.
    EXPECT_GE(WithSpare(std::max(first.opening, first.reading)), first.all);
    // By now the footer is known, and nothing but reading takes memory.
    Peaks again = ReadUnit(sample, *manifest, unit, columns,
                           {.memory_pool = &pool_again, .footers = &footers});
    EXPECT_GE(WithSpare(again.reading), again.all);
    EXPECT_LE(again.reading, kTooHighTimes * again.all + kTooHighBytes);
  }
}

// Lists of structs, maps of lists, and text in all of them; nulls everywhere.
TablePtr Nested(int64_t rows, size_t text_bytes, uint32_t distinct) {
  auto item = arrow::struct_(
      {arrow::field("n", arrow::int64()), arrow::field("text", arrow::utf8())});
  auto schema = arrow::schema({
      arrow::field("items", arrow::list(item)),
      arrow::field("map", arrow::map(arrow::utf8(), arrow::list(arrow::float64()))),
      arrow::field("one", item),
      arrow::field("vector", arrow::fixed_size_list(arrow::float32(), 8)),
      arrow::field("tags", arrow::large_list(arrow::utf8())),
  });
  std::mt19937 random(7);
  auto text = [&] {
    std::string out = std::to_string(random() % distinct);
    out.resize(text_bytes, static_cast<char>('a' + random() % 26));
    return out;
  };
  auto builder = *arrow::RecordBatchBuilder::Make(schema, arrow::default_memory_pool());
  auto* items = builder->GetFieldAs<arrow::ListBuilder>(0);
  auto* map = builder->GetFieldAs<arrow::MapBuilder>(1);
  auto* one = builder->GetFieldAs<arrow::StructBuilder>(2);
  auto* vector = builder->GetFieldAs<arrow::FixedSizeListBuilder>(3);
  auto* tags = builder->GetFieldAs<arrow::LargeListBuilder>(4);
  auto add_item = [&](arrow::StructBuilder* to) {
    EXPECT_TRUE(to->Append().ok());
    auto* number = static_cast<arrow::Int64Builder*>(to->field_builder(0));
    EXPECT_TRUE(number->Append(random()).ok());
    auto* texts = static_cast<arrow::StringBuilder*>(to->field_builder(1));
    EXPECT_TRUE((random() % 4 == 0 ? texts->AppendNull() : texts->Append(text())).ok());
  };
  for (int64_t row = 0; row < rows; ++row) {
    if (random() % 8 == 0) {
      for (int i = 0; i < schema->num_fields(); ++i) {
        EXPECT_TRUE(builder->GetField(i)->AppendNull().ok());
      }
      continue;
    }
    EXPECT_TRUE(items->Append().ok());
    for (auto i = random() % 6; i > 0; --i) {
      add_item(static_cast<arrow::StructBuilder*>(items->value_builder()));
    }
    EXPECT_TRUE(map->Append().ok());
    for (auto i = random() % 3; i > 0; --i) {
      EXPECT_TRUE(
          static_cast<arrow::StringBuilder*>(map->key_builder())->Append(text()).ok());
      auto* list = static_cast<arrow::ListBuilder*>(map->item_builder());
      EXPECT_TRUE(list->Append().ok());
      for (auto j = random() % 5; j > 0; --j) {
        EXPECT_TRUE(static_cast<arrow::DoubleBuilder*>(list->value_builder())
                        ->Append(0.5 * random())
                        .ok());
      }
    }
    add_item(one);
    EXPECT_TRUE(vector->Append().ok());
    for (int i = 0; i < 8; ++i) {
      EXPECT_TRUE(static_cast<arrow::FloatBuilder*>(vector->value_builder())
                      ->Append(static_cast<float>(i))
                      .ok());
    }
    EXPECT_TRUE(tags->Append().ok());
    for (auto i = random() % 4; i > 0; --i) {
      EXPECT_TRUE(
          static_cast<arrow::StringBuilder*>(tags->value_builder())->Append(text()).ok());
    }
  }
  return *arrow::Table::FromRecordBatches({*builder->Flush()});
}

Sample With(const std::string& name, const std::string& bytes,
            uint64_t range_bytes = kMiB) {
  Sample sample;
  sample.plan.range_bytes = range_bytes;
  sample.Put(name, bytes);
  return sample;
}

TEST(MemoryEstimate, HoldsForNestedColumnsOfParquet) {
  auto plain = Nested(20'000, 20, 1 << 30);
  auto repeated = Nested(20'000, 200, 5);  // of which the pages hold a dictionary
  auto few = Nested(200, 20'000, 1 << 30);
  for (uint64_t range_bytes : {256 * kKiB, kMiB, 16 * kMiB}) {
    for (int64_t group_rows : {1'000, 1 << 20}) {
      std::string how =
          fmt::format(", {} a range, groups of {}", FormatSize(range_bytes), group_rows);
      auto name = "a.parquet";
      ExpectGoodEstimates("plain" + how,
                          With(name, WriteParquet(*plain, group_rows), range_bytes));
      ExpectGoodEstimates("repeated" + how,
                          With(name, WriteParquet(*repeated, group_rows), range_bytes));
      ExpectGoodEstimates("few" + how,
                          With(name, WriteParquet(*few, group_rows), range_bytes));
    }
  }
}

TEST(MemoryEstimate, HoldsForEachNestedColumnAlone) {
  auto table = Nested(20'000, 50, 1 << 30);
  Sample sample = With("a.parquet", WriteParquet(*table));
  for (const auto& field : table->schema()->fields()) {
    ExpectGoodEstimates(field->name(), sample, {field->name()});
  }
}

TEST(MemoryEstimate, HoldsForArrowFiles) {
  auto nested = Nested(20'000, 50, 1 << 30);
  auto people = People(0, 50'000, 40);
  for (const auto& [what, table] : {std::pair{"nested", nested}, {"people", people}}) {
    for (bool is_stream : {false, true}) {
      for (int64_t batch_rows : {3'000, 1 << 20}) {
        for (auto compression :
             {arrow::Compression::UNCOMPRESSED, arrow::Compression::LZ4_FRAME,
              arrow::Compression::ZSTD}) {
          std::string name = is_stream ? "a.arrows" : "a.arrow";
          ExpectGoodEstimates(
              fmt::format("{}, {}, batches of {}, {}", what, name, batch_rows,
                          arrow::util::Codec::GetCodecAsString(compression)),
              With(name, WriteIpc(*table, {.is_stream = is_stream,
                                           .batch_rows = batch_rows,
                                           .compression = compression})));
        }
      }
    }
  }
}

// Text that is written once, and read as often as it occurs.
TablePtr Dictionaries(int64_t rows, size_t text_bytes) {
  arrow::StringDictionaryBuilder builder;
  for (int64_t i = 0; i < rows; ++i) {
    std::string text = std::to_string(i % 100);
    text.resize(text_bytes, 'x');
    EXPECT_TRUE(builder.Append(text).ok());
  }
  auto array = *builder.Finish();
  return arrow::Table::Make(arrow::schema({arrow::field("text", array->type()),
                                           arrow::field("id", arrow::int64())}),
                            {array, Int64s(0, rows)});
}

// The same in lists of ten.
TablePtr InLists(const TablePtr& table) {
  arrow::Int32Builder offsets;
  for (int64_t i = 0; i <= table->num_rows(); i += 10) {
    EXPECT_TRUE(offsets.Append(static_cast<int32_t>(i)).ok());
  }
  auto starts = *offsets.Finish();
  arrow::FieldVector fields;
  arrow::ArrayVector columns;
  for (const auto& field : table->schema()->fields()) {
    auto values = table->GetColumnByName(field->name())->chunk(0);
    columns.push_back(*arrow::ListArray::FromArrays(*starts, *values));
    fields.push_back(arrow::field(field->name(), columns.back()->type()));
  }
  return arrow::Table::Make(arrow::schema(fields), columns);
}

TEST(MemoryEstimate, HoldsForDictionariesOfArrowFiles) {
  for (size_t text_bytes : {4U, 400U}) {
    auto plain = Dictionaries(20'000, text_bytes);
    for (const auto& [what, table] :
         {std::pair{"plain", plain}, {"list", InLists(plain)}}) {
      for (bool is_stream : {false, true}) {
        std::string name = is_stream ? "a.arrows" : "a.arrow";
        Sample sample =
            With(name, WriteIpc(*table, {.is_stream = is_stream,
                                         .batch_rows = table->num_rows() / 5}));
        std::string how = fmt::format("{}, {} of {} bytes", what, name, text_bytes);
        ExpectGoodEstimates(how, sample);
        ExpectGoodEstimates(how + ", id", sample, {"id"});
      }
    }
  }
}

constexpr char kAvroSchema[] = R"({"type": "record", "name": "r", "fields": [
  {"name": "id", "type": "long"},
  {"name": "text", "type": ["null", "string"]},
  {"name": "items", "type": {"type": "array", "items": {"type": "record", "name": "i",
    "fields": [{"name": "n", "type": "long"}, {"name": "s", "type": "string"}]}}}]})";

// `repeats`: how much the text of a row is like itself.
std::string WriteAvro(const std::string& codec, int64_t rows, size_t repeats,
                      int64_t block_rows = 200) {
  avro::SampleFile file{.schema = kAvroSchema, .codec = codec};
  std::mt19937 random(5);
  auto text = [&](size_t bytes) {
    std::string out;
    while (out.size() < bytes) {
      out.append(repeats, static_cast<char>('!' + random() % 90));
    }
    return out;
  };
  for (int64_t first = 0; first < rows; first += block_rows) {
    avro::SampleEncoder out;
    for (int64_t row = first; row < first + block_rows; ++row) {
      out.Long(row);
      if (row % 4 == 0) {
        out.Long(0);
      } else {
        out.Long(1).Bytes(text(100));
      }
      auto count = static_cast<int64_t>(random() % 5);
      if (count > 0) out.Long(count);
      for (int64_t i = 0; i < count; ++i) {
        out.Long(static_cast<int64_t>(random())).Bytes(text(30));
      }
      out.Long(0);
    }
    file.blocks.push_back({.row_count = block_rows, .bytes = out.bytes()});
  }
  return file.Write();
}

TEST(MemoryEstimate, HoldsForAvroFiles) {
  for (const char* codec : {"null", "deflate", "snappy", "zstandard"}) {
    for (size_t repeats : {1U, 40U}) {
      // In one window, and through several.
      for (int64_t rows : {4'000, 120'000}) {
        Sample sample = With("a.avro", WriteAvro(codec, rows, repeats));
        std::string what = fmt::format("{}, {} times, {} rows", codec, repeats, rows);
        ExpectGoodEstimates(what, sample);
        ExpectGoodEstimates(what + ", id", sample, {"id"});
      }
    }
  }
}

// However few columns are wanted, a block is read whole.
TEST(MemoryEstimate, HoldsForAvroFilesOfOneLargeBlock) {
  Sample sample = With("a.avro", WriteAvro("null", 200'000, 1, 200'000));
  ExpectGoodEstimates("all", sample);
  ExpectGoodEstimates("id", sample, {"id"});
}

}  // namespace
}  // namespace forebay::table
