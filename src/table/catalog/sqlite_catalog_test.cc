#include "table/catalog/sqlite_catalog.h"

#include <gtest/gtest.h>

#include "sqlite/database.h"
#include "support/servers.h"

namespace forebay::table::catalog {
namespace {

using testing_support::TempFolder;
using testing_support::WriteFile;

constexpr char kCreate[] =
    "CREATE TABLE iceberg_tables (catalog_name VARCHAR(255) NOT NULL, table_namespace "
    "VARCHAR(255) NOT NULL, table_name VARCHAR(255) NOT NULL, metadata_location "
    "VARCHAR(1000), previous_metadata_location VARCHAR(1000), PRIMARY KEY (catalog_name, "
    "table_namespace, table_name));";

struct SqliteCatalogTest : testing::Test {
  void Run(const std::string& sql) {
    auto db = sqlite::Database::Open(file, {.mode = sqlite::Mode::kCreate}).ValueOrDie();
    ASSERT_EQ(db.Execute(sql), Status::OK());
  }
  void Add(const std::string& catalog, const std::string& space,
           const std::string& table) {
    Run("INSERT INTO iceberg_tables VALUES ('" + catalog + "', '" + space + "', '" +
        table + "', 's3://" + catalog + "/" + table + ".metadata.json', NULL)");
  }
  Result<CatalogTable> Load(const std::string& name, source::Options options = {}) {
    return LoadCatalogTable("iceberg+sqlite://" + file + "/" + name, options,
                            Deadline::After(milliseconds(10'000)));
  }

  TempFolder folder;
  std::string file = folder.path() + "/catalog.db";
};

TEST_F(SqliteCatalogTest, GivesTheMetadataLocation) {
  Run(kCreate);
  Add("default", "db.sub", "events");
  CatalogTable table = Load("db.sub.events", {{"s3.region", "x"}}).ValueOrDie();
  EXPECT_EQ(table.metadata_location, "s3://default/events.metadata.json");
  EXPECT_FALSE(table.metadata_json.has_value());
  EXPECT_EQ(table.options.at("s3.region"), "x");
}

TEST_F(SqliteCatalogTest, AsksWhichCatalogWhereSeveralHaveTheTable) {
  Run(kCreate);
  Add("one", "db", "events");
  Add("two", "db", "events");
  Status status = Load("db.events").status();
  EXPECT_EQ(status.code(), StatusCode::kInvalid);
  EXPECT_NE(status.message().find("one, two"), std::string::npos) << status;
  EXPECT_EQ(Load("db.events", {{"catalog", "two"}}).ValueOrDie().metadata_location,
            "s3://two/events.metadata.json");
  EXPECT_FALSE(Load("db.events", {{"catalog", "three"}}).ok());
}

TEST_F(SqliteCatalogTest, ListsWhatThereIsInstead) {
  Run(kCreate);
  EXPECT_NE(Load("db.events").status().message().find("no tables"), std::string::npos);
  for (int i = 10; i < 30; ++i) Add("default", "a", "other" + std::to_string(i));
  Add("default", "db", "event");
  Status status = Load("db.events").status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(status.message().find("there are db.event, a.other10"), std::string::npos)
      << status;
  EXPECT_NE(status.message().find("and 11 more"), std::string::npos) << status;
}

TEST_F(SqliteCatalogTest, PassesOverViews) {
  Run(kCreate);
  Run("ALTER TABLE iceberg_tables ADD COLUMN iceberg_type VARCHAR(5)");
  Run("INSERT INTO iceberg_tables VALUES ('c', 'db', 'v', 's3://v', NULL, 'VIEW'), "
      "('c', 'db', 't', 's3://t', NULL, 'TABLE'), ('c', 'db', 'u', 's3://u', NULL, "
      "NULL)");
  EXPECT_EQ(Load("db.t").ValueOrDie().metadata_location, "s3://t");
  EXPECT_EQ(Load("db.u").ValueOrDie().metadata_location, "s3://u");
  EXPECT_EQ(Load("db.v").status().code(), StatusCode::kNotFound);
}

TEST_F(SqliteCatalogTest, SaysThatAFileIsNoCatalog) {
  Run("CREATE TABLE other (x)");
  Status status = Load("db.events").status();
  EXPECT_EQ(status.code(), StatusCode::kInvalid);
  EXPECT_NE(status.message().find(file), std::string::npos) << status;
  EXPECT_NE(status.message().find("iceberg_tables"), std::string::npos) << status;
  WriteFile(file, std::string(5000, 'x'));
  EXPECT_EQ(Load("db.events").status().code(), StatusCode::kCorrupt);
}

}  // namespace
}  // namespace forebay::table::catalog
