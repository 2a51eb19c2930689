#include "table/catalog/catalog_table.h"

#include "table/catalog/catalog_uri.h"
#include "table/catalog/rest_catalog.h"
#include "table/catalog/sqlite_catalog.h"

namespace forebay::table::catalog {

bool IsCatalogUri(const std::string& uri) {
  return uri.starts_with("iceberg+") || uri.starts_with("iceberg://");
}

Result<CatalogTable> LoadCatalogTable(const std::string& uri,
                                      const source::Options& options, Deadline deadline) {
  FB_ASSIGN_OR_RETURN(CatalogAddress address, ParseCatalogUri(uri, options));
  switch (address.kind) {
    case CatalogKind::kRest: return LoadRestTable(address, options, deadline);
    case CatalogKind::kSqlite: return LoadSqliteTable(address, options, deadline);
  }
  return Status::Internal("a catalog of no kind");
}

}  // namespace forebay::table::catalog
