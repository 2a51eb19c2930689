#include "table/listing.h"

#include "source/faulty_source.h"
#include "table/sample_tables.h"

namespace forebay::table {
namespace {

Result<Listing> List(Sample& sample, const std::string& uri) {
  return ListTable(*sample.source, uri, Deadline::Never());
}

std::vector<std::string> Names(const Listing& listing) {
  std::vector<std::string> names;
  for (const auto& object : listing.objects) {
    names.push_back(object.uri.substr(std::string("mem://t/data/").size()));
  }
  return names;
}

using Strings = std::vector<std::string>;

TEST(Listing, SkipsHiddenNamesAndSortsTheRest) {
  Sample sample;
  for (const char* name : {"b.parquet", "a/c.parquet", "_SUCCESS", ".b.parquet.crc",
                           "_tmp/x.parquet", "a/.hidden/y.parquet", "folder/"}) {
    sample.Put(name, "");
  }
  auto listing = List(sample, sample.uri);
  ASSERT_TRUE(listing.ok()) << listing.status();
  EXPECT_EQ(Names(*listing), (Strings{"a/c.parquet", "b.parquet"}));
}

TEST(Listing, PassesOverAndCountsWhatDescribesData) {
  Sample sample;
  for (const char* name :
       {"a.parquet", "b.parquet", "README.md", "sub/readme", "LICENSE.txt", "_SUCCESS",
        "SHA256SUMS", "a.parquet.crc", "a.parquet.md5", "dataset_info.json"}) {
    sample.Put(name, "");
  }
  auto listing = List(sample, sample.uri);
  ASSERT_TRUE(listing.ok()) << listing.status();
  EXPECT_EQ(Names(*listing), (Strings{"a.parquet", "b.parquet"}));
  EXPECT_EQ(listing->passed_over_count, 8u);
}

TEST(Listing, SaysWhatAFileIsThatIsNoTable) {
  struct Case {
    const char* name;
    const char* says;
  };
  for (auto [name, says] : std::initializer_list<Case>{
           {"x.csv", "is CSV, "},
           {"x.TSV", "is CSV, "},
           {"x.csv.gz", "is CSV, "},
           {"x.json", "is JSON, "},
           {"x.jsonl", "is JSON, "},
           {"x.jpg", "is an image, "},
           {"x.PNG", "is an image, "},
           {"x.tar", "is an archive, "},
           {"x.tar.gz", "is an archive, "},
           {"x.zip", "is an archive, "},
           {"x.mp4", "is a recording, "},
           {"x.npy", "holds arrays, "},
           {"x.text", "is not a data file: "},
           {"readme.parquets", "is not a data file: "},
       }) {
    Sample sample;
    sample.Put("a.parquet", "");
    sample.Put(name, "hello");
    Status status = List(sample, sample.uri).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalid) << name;
    EXPECT_NE(status.message().find(std::string("data/") + name + " " + says),
              std::string::npos)
        << status;
    EXPECT_NE(status.message().find("*.parquet"), std::string::npos) << status;
    bool foreign = std::string_view(says) != "is not a data file: ";
    EXPECT_EQ(status.message().find("forebay.files(...)") != std::string::npos, foreign)
        << status;
    // Alone, it is the same.
    EXPECT_EQ(List(sample, sample.uri + "/" + name).status().message(), status.message());
  }
}

TEST(Listing, DoesNotTakeTheFilesOfAnotherTableFormatForATable) {
  for (const char* log : {"_delta_log/0.json", ".hoodie/hoodie.properties"}) {
    Sample sample;
    sample.Put("a.parquet", "");
    sample.Put(log, "");
    EXPECT_EQ(List(sample, sample.uri).status().code(), StatusCode::kUnsupported) << log;
    EXPECT_TRUE(List(sample, sample.uri + "/*.parquet").ok());
  }
  Sample deeper;
  deeper.Put("a.parquet", "");
  deeper.Put("x_delta_log/b.parquet", "");
  EXPECT_TRUE(List(deeper, deeper.uri).ok());
}

TEST(Listing, TakesOneFileOrAGlob) {
  Sample sample;
  for (const char* name : {"a.parquet", "b.parquet", "sub/c.parquet", "notes.txt"}) {
    sample.Put(name, "");
  }
  EXPECT_EQ(Names(*List(sample, sample.uri + "/b.parquet")), Strings{"b.parquet"});
  EXPECT_EQ(Names(*List(sample, sample.uri + "/*.parquet")),
            (Strings{"a.parquet", "b.parquet"}));
  EXPECT_EQ(Names(*List(sample, sample.uri + "/**/*.parquet")).size(), 3u);
  EXPECT_EQ(Names(*List(sample, sample.uri + "/s*")), Strings{"sub/c.parquet"});
}

TEST(Listing, TellsFormatsByNameAndThenByFirstBytes) {
  Sample sample;
  sample.Put("one", "PAR1....");
  EXPECT_EQ(List(sample, sample.uri)->format, model::FileFormat::kParquet);
  sample.Put("two.PARQUET", "");
  EXPECT_TRUE(List(sample, sample.uri).ok());
  sample.Put("zzz", "ORC.....");
  auto mixed = List(sample, sample.uri);
  ASSERT_FALSE(mixed.ok());
  EXPECT_EQ(mixed.status().code(), StatusCode::kInvalid);
  EXPECT_NE(mixed.status().message().find("data/one"), std::string::npos);
  EXPECT_NE(mixed.status().message().find("data/zzz"), std::string::npos);
}

TEST(Listing, SaysWhatIsWrongAndWhatToDo) {
  Sample sample;
  EXPECT_EQ(List(sample, sample.uri).status().code(), StatusCode::kNotFound);
  sample.Put("_SUCCESS", "");
  auto none = List(sample, sample.uri).status();
  EXPECT_EQ(none.code(), StatusCode::kNotFound);
  EXPECT_NE(none.message().find("no data files"), std::string::npos) << none;
  auto no_match = List(sample, sample.uri + "/*.pq").status();
  EXPECT_EQ(no_match.code(), StatusCode::kNotFound);
  EXPECT_NE(no_match.message().find("no file matches"), std::string::npos) << no_match;
  sample.Put("a.txt", "hello");
  auto text = List(sample, sample.uri).status();
  EXPECT_EQ(text.code(), StatusCode::kInvalid);
  EXPECT_NE(text.message().find("a.txt"), std::string::npos) << text;
}

TEST(Listing, PassesOnAForbiddenSource) {
  Sample sample;
  sample.Put("a.parquet", "");
  source::FaultySource faulty(sample.source);
  faulty.Add({.call = source::Call::kStat, .status = Status::Permission("no entry")});
  auto listing = ListTable(faulty, sample.uri, Deadline::Never());
  EXPECT_EQ(listing.status().code(), StatusCode::kPermission);
  EXPECT_EQ(faulty.fired(), 1);
}

TEST(Listing, VersionChangesWithAnyObject) {
  Sample sample;
  sample.Put("a.parquet", "x");
  Hash128 first = List(sample, sample.uri)->version;
  EXPECT_EQ(List(sample, sample.uri)->version, first);
  sample.Put("a.parquet", "y");
  Hash128 second = List(sample, sample.uri)->version;
  EXPECT_NE(first, second);
  sample.Put("b.parquet", "y");
  EXPECT_NE(List(sample, sample.uri)->version, second);
}

TEST(Listing, FindsPartitionColumnsAndTheirTypes) {
  Sample sample;
  sample.Put("year=2023/big=5000000000/c=a%20b/x=1/f.parquet", "");
  sample.Put("year=2024/big=1/c=__HIVE_DEFAULT_PARTITION__/x=01z/f.parquet", "");
  auto listing = *List(sample, sample.uri);
  ASSERT_EQ(listing.partitions.size(), 4u);
  EXPECT_EQ(listing.partitions[0].format, "i");
  EXPECT_EQ(listing.partitions[1].format, "l");
  EXPECT_EQ(listing.partitions[2].format, "u");
  EXPECT_EQ(listing.partitions[2].values[0], "a b");
  EXPECT_EQ(listing.partitions[2].values[1], std::nullopt);
  EXPECT_EQ(listing.partitions[3].format, "u");
}

}  // namespace
}  // namespace forebay::table
