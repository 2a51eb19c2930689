// Filters over data files: plain ones, and together with deletes.
#include "table/live/live_rows_of.h"

#include "table/filter/bind.h"
#include "table/live/sample_scan.h"

namespace forebay::table::live {
namespace {

filter::BoundFilter BindIt(const std::string& text, const iceberg::Schema& schema) {
  return filter::Bind(filter::Filter::Parse(text).ValueOrDie(), schema).ValueOrDie();
}

TEST(LiveRows, KeepWhatTheFilterKeepsAndNoDeleteNames) {
  SampleScan table;
  size_t a = table.AddData(1, {1, 2, 3, {}, 5, 6}, {}, 2);
  table.AddPositions(2, {{a, 5}});
  auto filter = BindIt("k >= 2", table.metadata.schemas[0]);
  table.filter = &filter;
  EXPECT_EQ(table.Live(a), "011010");
  table.AddKeys(3, {2});
  EXPECT_EQ(table.Live(a), "001010");
  // The filter's and the deletes' columns need not be the same.
  auto other = BindIt("v < 4", table.metadata.schemas[0]);
  table.filter = &other;
  EXPECT_EQ(table.Live(a), "101100");
}

TEST(LiveRows, GroupsThatStatisticsRuleOutAreNotRead) {
  SampleScan table;
  Longs keys;
  for (int64_t i = 0; i < 200'000; ++i) keys.push_back(i);
  size_t a = table.AddData(1, keys, {}, 10'000);
  auto filter = BindIt("k >= 150000 and k < 150010", table.metadata.schemas[0]);
  table.filter = &filter;
  uint64_t size = table.files[a].object.identity.size;
  auto resolver = table.Resolver().ValueOrDie();
  uint64_t before = table.source->stats().bytes;
  auto live = resolver->Of(a, table.files[a]).ValueOrDie();
  EXPECT_EQ(live.Count(), 10u);
  EXPECT_TRUE(live.Alive(150'000) && live.Alive(150'009));
  EXPECT_LT(table.source->stats().bytes - before, size / 4);
  // All of a group matches: it is not read either, unless deletes want to see it.
  auto most = BindIt("k >= 10000", table.metadata.schemas[0]);
  table.filter = &most;
  resolver = table.Resolver().ValueOrDie();
  before = table.source->stats().bytes;
  EXPECT_EQ(resolver->Of(a, table.files[a]).ValueOrDie().Count(), 190'000u);
  EXPECT_LT(table.source->stats().bytes - before, size / 4);
  table.AddKeys(2, {5, 150'005});
  EXPECT_EQ(table.Resolver().ValueOrDie()->Of(a, table.files[a]).ValueOrDie().Count(),
            189'999u);
}

TEST(LiveRows, AFileThatMetricsShowToMatchIsNotTouched) {
  SampleScan table;
  size_t a = table.AddData(1, {5, 6});
  auto filter = BindIt("k > 4", table.metadata.schemas[0]);
  table.filter = &filter;
  EXPECT_TRUE(table.Resolver().ValueOrDie()->Touches(a));
  int64_t lower = 5, upper = 6;
  auto bytes = [](int64_t value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  table.scan.data[a].lower_bounds = {{1, bytes(lower)}};
  table.scan.data[a].upper_bounds = {{1, bytes(upper)}};
  table.scan.data[a].value_counts = {{1, 2}};
  table.scan.data[a].null_counts = {{1, 0}};
  EXPECT_FALSE(table.Resolver().ValueOrDie()->Touches(a));
  EXPECT_EQ(table.Live(a), "11");
}

TEST(LiveRows, OfFilesWithoutTheColumnComeFromItsDefault) {
  SampleScan table;
  size_t a = table.AddData(1, {1, 2});
  table.metadata.schemas[0].fields.push_back(LongField(8, "later"));
  auto filter = BindIt("later = 3", table.metadata.schemas[0]);
  table.filter = &filter;
  EXPECT_EQ(table.Live(a), "00");
  table.metadata.schemas[0].fields.back().initial_default = "3";
  EXPECT_EQ(table.Live(a), "11");
}

// A plain table: no ids, columns in folder names.
struct PlainTable {
  Sample sample;
  ManifestPtr manifest;

  Result<std::string> Live(const std::string& text, uint32_t object) {
    FB_ASSIGN_OR_RETURN(manifest, sample.Plan());
    FileRef file{.object = manifest->object(object),
                 .format = manifest->objects()[object].format,
                 .context = {}};
    FB_ASSIGN_OR_RETURN(auto live, Of(text, file, manifest->schema()));
    std::string out;
    for (uint64_t i = 0; i < live.row_count; ++i) out += live.Alive(i) ? '1' : '0';
    return out;
  }
  Result<model::LiveRows> Of(const std::string& text, const FileRef& file,
                             const model::Schema& schema) const {
    FB_ASSIGN_OR_RETURN(auto parsed, filter::Filter::Parse(text));
    FB_ASSIGN_OR_RETURN(auto filter, filter::Bind(parsed, schema));
    FB_ASSIGN_OR_RETURN(auto resolver,
                        LiveRowsResolver::Make({.source = sample.source,
                                                .schema = schema,
                                                .filter = &filter,
                                                .pool = nullptr,
                                                .memory_pool = nullptr,
                                                .footers = nullptr,
                                                .deadline = Deadline::Never(),
                                                .resolve = {}}));
    return resolver->Of(0, file);
  }
};

TEST(LiveRows, OfPlainTablesComeFromTheFilterAlone) {
  PlainTable table;
  table.sample.Put("a.parquet", WriteParquet(*People(0, 6), 2));
  EXPECT_EQ(table.Live("id >= 1 and id < 4", 0).ValueOrDie(), "011100");
  EXPECT_EQ(table.Live("x is null", 0).ValueOrDie(), "100001");
  EXPECT_EQ(table.Live("id < 100", 0).ValueOrDie(), "111111");
  EXPECT_EQ(table.Live("id < 0", 0).ValueOrDie(), "000000");
}

TEST(LiveRows, OfPlainTablesKnowTheFoldersNames) {
  PlainTable table;
  table.sample.Put("day=1/a.parquet", WriteParquet(*People(0, 3)));
  table.sample.Put("day=2/a.parquet", WriteParquet(*People(3, 3)));
  EXPECT_EQ(table.Live("day = 2 and id <> 4", 0).ValueOrDie(), "000");
  EXPECT_EQ(table.Live("day = 2 and id <> 4", 1).ValueOrDie(), "101");
}

// Every 64-bit number of that value, as the metadata of an Arrow file has it.
std::string WithNumber(std::string bytes, int64_t from, int64_t to) {
  std::string before(reinterpret_cast<const char*>(&from), sizeof(from));
  std::string after(reinterpret_cast<const char*>(&to), sizeof(to));
  size_t count = 0;
  for (size_t at = bytes.find(before); at != bytes.npos; at = bytes.find(before, at)) {
    bytes.replace(at, before.size(), after);
    ++count;
  }
  EXPECT_GT(count, 0u);
  return bytes;
}

TEST(LiveRows, OfAFileThatClaimsMoreRowsThanAnyHasAreRefused) {
  constexpr int64_t kRows = 77'777, kClaimed = int64_t{1} << 40;
  PlainTable table;
  auto zeros = arrow::Table::Make(arrow::schema({arrow::field("id", arrow::int64())}),
                                  {LongArray(Longs(kRows, 0))});
  table.sample.Put("good.arrow", WriteIpc(*zeros));
  model::Schema schema = table.sample.Plan().ValueOrDie()->schema();
  std::string uri = "mem://claims/a.arrow";
  table.sample.source->Put(uri, WithNumber(WriteIpc(*zeros), kRows, kClaimed));
  FileRef file{.object = table.sample.source->Stat(uri, Deadline::Never()).ValueOrDie(),
               .format = model::FileFormat::kIpcFile};
  Status refused = table.Of("id > 5", file, schema).status();
  EXPECT_EQ(refused.code(), StatusCode::kCorrupt);
  EXPECT_NE(refused.message().find("a.arrow claims to have 1099511627776 rows"),
            std::string::npos)
      << refused;
}

TEST(LiveRows, OfAllFilesTogetherStayWithinTheBudget) {
  MemoryBudget budget(20'000);
  SampleScan table;
  table.budget = &budget;
  size_t a = table.AddData(1, Longs(64'000, 1)), b = table.AddData(1, Longs(128'000, 2));
  auto filter = BindIt("k = 3", table.metadata.schemas[0]);
  table.filter = &filter;
  auto resolver = table.Resolver().ValueOrDie();
  auto live = resolver->Of(a, table.files[a]);
  ASSERT_TRUE(live.ok()) << live.status();
  EXPECT_EQ(live->Count(), 0u);
  EXPECT_EQ(resolver->Of(b, table.files[b]).status(),
            Status::Full("mem://t/data-1.parquet claims to have 128000 rows; to mark "
                         "those that live takes 15.6 KiB, and other files of the table "
                         "have 7.8 KiB of 19.5 KiB"));
  // Position deletes mark rows, too.
  table.filter = nullptr;
  table.AddPositions(2, {{a, 5}, {b, 6}});
  EXPECT_EQ(table.Resolver().status().code(), StatusCode::kFull);
}

TEST(LiveRows, OfFilesThatLoseNoneTakeNoMemory) {
  MemoryBudget budget(10'000);
  SampleScan table;
  table.budget = &budget;
  auto filter = BindIt("v >= 0", table.metadata.schemas[0]);
  table.filter = &filter;
  for (int i = 0; i < 3; ++i) table.AddData(1, Longs(64'000, 1));
  auto resolver = table.Resolver().ValueOrDie();
  for (const FileRef& file : table.files) {
    auto live = resolver->Of(0, file);
    ASSERT_TRUE(live.ok()) << live.status();
    EXPECT_TRUE(live->all());
  }
}

TEST(LiveRows, OfEveryFormatAreTheSame) {
  for (const auto& [name, bytes] : std::vector<std::pair<std::string, std::string>>{
           {"a.arrow", WriteIpc(*People(0, 6), {.batch_rows = 4})},
           {"a.arrows", WriteIpc(*People(0, 6), {.is_stream = true, .batch_rows = 4})},
           {"a.orc", WriteOrc(*People(0, 6))}}) {
    PlainTable table;
    table.sample.Put(name, bytes);
    EXPECT_EQ(table.Live("id >= 1 and id < 5", 0).ValueOrDie(), "011110") << name;
  }
}

}  // namespace
}  // namespace forebay::table::live
