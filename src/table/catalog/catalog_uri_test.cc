#include "table/catalog/catalog_uri.h"

#include <gtest/gtest.h>

#include "support/servers.h"
#include "table/catalog/catalog_table.h"

namespace forebay::table::catalog {
namespace {

using testing_support::TempFolder;
using testing_support::WriteFile;

CatalogAddress Parse(const std::string& uri, const source::Options& options = {}) {
  return ParseCatalogUri(uri, options).ValueOrDie();
}

std::string Refusal(const std::string& uri, const source::Options& options = {}) {
  return ParseCatalogUri(uri, options).status().ToString();
}

TEST(CatalogUri, KnowsItsSchemes) {
  EXPECT_TRUE(IsCatalogUri("iceberg+rest://h/a.b"));
  EXPECT_TRUE(IsCatalogUri("iceberg+sqlite:///x.db/a.b"));
  EXPECT_TRUE(IsCatalogUri("iceberg://name/a.b"));
  EXPECT_FALSE(IsCatalogUri("s3://bucket/iceberg"));
  EXPECT_FALSE(IsCatalogUri("/iceberg/x"));
}

TEST(CatalogUri, NamesARestEndpoint) {
  CatalogAddress address = Parse("iceberg+rest://catalog:8181/db.events");
  EXPECT_EQ(address.kind, CatalogKind::kRest);
  EXPECT_EQ(address.place, "http://catalog:8181");
  EXPECT_EQ(address.name.ToString(), "db.events");
  EXPECT_EQ(Parse("ICEBERG+REST+HTTPS://h/api/catalog/a.b").place,
            "https://h/api/catalog");
  EXPECT_EQ(Parse("iceberg+rest://h/a.b", {{"uri", "https://other/base/"}}).place,
            "https://other/base");
}

TEST(CatalogUri, SplitsNamesAtDots) {
  TableName name = Parse("iceberg+rest://h/db.sub%2Epart.ev%20ents").name;
  EXPECT_EQ(name.levels, (std::vector<std::string>{"db", "sub.part"}));
  EXPECT_EQ(name.table, "ev ents");
  for (const char* bad : {"", "events", ".events", "db.", "db..events", "db/events"}) {
    EXPECT_EQ(ParseTableName(bad).status().code(), StatusCode::kInvalid) << bad;
  }
}

TEST(CatalogUri, FindsTheDatabaseInAPath) {
  TempFolder folder;
  std::string file = folder.path() + "/catalog.db";
  WriteFile(file, "x");
  CatalogAddress address = Parse("iceberg+sqlite://" + file + "/db.events");
  EXPECT_EQ(address.kind, CatalogKind::kSqlite);
  EXPECT_EQ(address.place, file);
  EXPECT_EQ(address.name.ToString(), "db.events");
  EXPECT_NE(Refusal("iceberg+sqlite://" + file).find("no table"), std::string::npos);
  EXPECT_NE(Refusal("iceberg+sqlite:///no/such.db/db.events").find("/no/such.db"),
            std::string::npos);
  EXPECT_NE(Refusal("iceberg+sqlite://catalog.db/db.events").find("absolute"),
            std::string::npos);
}

TEST(CatalogUri, TakesNamedCatalogsFromOptions) {
  EXPECT_EQ(Parse("iceberg://prod/db.t", {{"uri", "http://h:1/x/"}}).place,
            "http://h:1/x");
  CatalogAddress sql = Parse("iceberg://prod/db.t", {{"uri", "sqlite:////a/b.db"}});
  EXPECT_EQ(sql.kind, CatalogKind::kSqlite);
  EXPECT_EQ(sql.place, "/a/b.db");
  EXPECT_NE(Refusal("iceberg://prod/db.t").find("'prod'"), std::string::npos);
  source::Options hive = {{"uri", "thrift://h"}, {"type", "hive"}};
  EXPECT_NE(Refusal("iceberg://prod/db.t", hive).find("hive"), std::string::npos);
  EXPECT_NE(Refusal("iceberg+glue://x/db.t").find("iceberg+rest"), std::string::npos);
}

TEST(CatalogUri, RefusesPasswordsWithoutRepeatingThem) {
  std::string refusal = Refusal("iceberg+rest://me:SECRET@h/db.t");
  EXPECT_NE(refusal.find("credential"), std::string::npos);
  EXPECT_EQ(refusal.find("SECRET"), std::string::npos);
}

}  // namespace
}  // namespace forebay::table::catalog
