// Tables by name: what an Iceberg catalog answers.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "source/source.h"

namespace forebay::table::catalog {

struct CatalogTable {
  std::string metadata_location;
  std::optional<std::string> metadata_json;  // where the catalog sent it along
  source::Options options;                   // the caller's, then what the catalog vended
};

// "iceberg+rest://…" and "iceberg+sqlite://…".
bool IsCatalogUri(const std::string& uri);

// Asks the catalog. Options are PyIceberg's: "uri", "warehouse", "token", "credential", …
Result<CatalogTable> LoadCatalogTable(const std::string& uri,
                                      const source::Options& options, Deadline deadline);

}  // namespace forebay::table::catalog
