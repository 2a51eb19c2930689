// The SQL catalog that PyIceberg and Iceberg's JDBC catalog write, in a SQLite file.
#pragma once

#include "table/catalog/catalog_table.h"
#include "table/catalog/catalog_uri.h"

namespace forebay::table::catalog {

// The option `catalog` says whose table it is where several catalogs share the file.
Result<CatalogTable> LoadSqliteTable(const CatalogAddress& address,
                                     const source::Options& options, Deadline deadline);

}  // namespace forebay::table::catalog
