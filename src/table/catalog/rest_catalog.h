// A table of an Iceberg REST catalog.
#pragma once

#include "table/catalog/catalog_table.h"
#include "table/catalog/catalog_uri.h"

namespace forebay::table::catalog {

// Who we are, then GET /v1/config, then the table. Its options are the caller's under the
// catalog's own: defaults, overrides, the table's config, the credentials vended for it.
Result<CatalogTable> LoadRestTable(const CatalogAddress& address,
                                   const source::Options& options, Deadline deadline);

}  // namespace forebay::table::catalog
