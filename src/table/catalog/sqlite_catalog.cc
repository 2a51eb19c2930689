#include "table/catalog/sqlite_catalog.h"

#include <algorithm>
#include <vector>

#include "source/http_options.h"
#include "sqlite/database.h"

namespace forebay::table::catalog {
namespace {

constexpr milliseconds kBusyTimeoutMax{10'000};
constexpr int kListedMax = 10;

struct Entry {
  std::string catalog;
  std::string location;
};

// Newer catalogs keep views beside tables.
Result<bool> HasTypes(sqlite::Database& database) {
  FB_ASSIGN_OR_RETURN(auto columns,
                      database.Prepare("SELECT count(*), sum(name = 'iceberg_type') FROM "
                                       "pragma_table_info('iceberg_tables')"));
  FB_ASSIGN_OR_RETURN(bool row, columns.Step());
  if (!row || columns.Int64(0) == 0) {
    return Status::Invalid(
        "it has no table iceberg_tables: it is not a catalog that "
        "PyIceberg or Iceberg's JDBC catalog wrote");
  }
  return columns.Int64(1) > 0;
}

std::string OnlyTables(bool has_types) {
  return has_types ? " AND (iceberg_type IS NULL OR iceberg_type = 'TABLE')" : "";
}

Result<std::vector<Entry>> Find(sqlite::Database& database, const TableName& name,
                                bool has_types) {
  FB_ASSIGN_OR_RETURN(auto select,
                      database.Prepare("SELECT catalog_name, metadata_location FROM "
                                       "iceberg_tables WHERE table_namespace = ? AND "
                                       "table_name = ?" +
                                       OnlyTables(has_types) + " ORDER BY catalog_name"));
  FB_RETURN_NOT_OK(select.Bind(1, name.Namespace()));
  FB_RETURN_NOT_OK(select.Bind(2, name.table));
  std::vector<Entry> found;
  for (;;) {
    FB_ASSIGN_OR_RETURN(bool row, select.Step());
    if (!row) return found;
    found.push_back({select.Text(0), select.Text(1)});
  }
}

// What there is instead: the tables of the same namespace, else of any.
Result<std::string> Nearby(sqlite::Database& database, const TableName& name,
                           bool has_types) {
  FB_ASSIGN_OR_RETURN(
      auto select,
      database.Prepare("SELECT DISTINCT table_namespace, table_name FROM "
                       "iceberg_tables WHERE true" +
                       OnlyTables(has_types) + " ORDER BY table_namespace != ?, 1, 2"));
  FB_RETURN_NOT_OK(select.Bind(1, name.Namespace()));
  std::string listed;
  int count = 0;
  for (;; ++count) {
    FB_ASSIGN_OR_RETURN(bool row, select.Step());
    if (!row) break;
    if (count >= kListedMax) continue;
    listed += (count == 0 ? "" : ", ") + select.Text(0) + "." + select.Text(1);
  }
  if (count == 0) return std::string("it has no tables");
  if (count > kListedMax)
    listed += " and " + std::to_string(count - kListedMax) + " more";
  return "there are " + listed;
}

std::string Catalogs(const std::vector<Entry>& entries) {
  std::string names;
  for (const Entry& entry : entries) names += (names.empty() ? "" : ", ") + entry.catalog;
  return names;
}

Result<std::string> Locate(sqlite::Database& database, const TableName& name,
                           const std::string& catalog) {
  FB_ASSIGN_OR_RETURN(bool has_types, HasTypes(database));
  FB_ASSIGN_OR_RETURN(std::vector<Entry> all, Find(database, name, has_types));
  std::vector<Entry> found = all;
  if (!catalog.empty()) {
    std::erase_if(found, [&](const Entry& e) { return e.catalog != catalog; });
  }
  // The name may be that of a configuration and not the one the file was written with.
  if (found.empty() && all.size() == 1) found = all;
  if (all.empty()) {
    FB_ASSIGN_OR_RETURN(std::string nearby, Nearby(database, name, has_types));
    return Status::NotFound("there is no table " + name.ToString() + " in it: " + nearby);
  }
  if (found.size() != 1) {
    return Status::Invalid("several catalogs in it have a table " + name.ToString() +
                           ": choose one with catalog=, of " + Catalogs(all));
  }
  if (found[0].location.empty()) {
    return Status::Corrupt("the table " + name.ToString() + " has no metadata location");
  }
  return found[0].location;
}

}  // namespace

Result<CatalogTable> LoadSqliteTable(const CatalogAddress& address,
                                     const source::Options& options, Deadline deadline) {
  sqlite::OpenOptions how;
  how.busy_timeout = std::min(kBusyTimeoutMax, deadline.Remaining());
  FB_ASSIGN_OR_RETURN(auto database, sqlite::Database::Open(address.place, how));
  auto location = Locate(database, address.name, source::GetOption(options, "catalog"));
  if (!location.ok()) {
    return location.status().WithContext("the catalog " + address.place);
  }
  return CatalogTable{*std::move(location), std::nullopt, options};
}

}  // namespace forebay::table::catalog
