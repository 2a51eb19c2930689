// Where a catalog is and which of its tables is meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "source/source.h"

namespace forebay::table::catalog {

struct TableName {
  std::vector<std::string> levels;  // of the namespace, at least one
  std::string table;

  // "db.sub"
  std::string Namespace() const;
  // "db.sub.events"
  std::string ToString() const;
};

enum class CatalogKind { kRest, kSqlite };

struct CatalogAddress {
  CatalogKind kind = CatalogKind::kRest;
  std::string place;  // the endpoint's URL without a last slash, or the database's file
  TableName name;
};

// iceberg+rest://host:port/db.events         http; the option `uri` wins over host and
// port iceberg+rest+https://host/base/db.events
// iceberg+sqlite:///path/catalog.db/db.events
// iceberg://name/db.events                   by the options `type` and `uri`
// Dots inside of a name are written %2E.
Result<CatalogAddress> ParseCatalogUri(const std::string& uri,
                                       const source::Options& options);

// "db.sub.events"; kInvalid without a namespace.
Result<TableName> ParseTableName(std::string_view text);

}  // namespace forebay::table::catalog
