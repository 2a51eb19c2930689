// Catalogs as PyIceberg's users configure them: .pyiceberg.yaml and PYICEBERG_…
// variables, read in the process that opens a table. The node has another home and
// environment.
#pragma once

#include <map>
#include <string>

#include "base/status.h"

namespace forebay::reader {

using Properties = std::map<std::string, std::string>;

struct CatalogConfiguration {
  std::string default_name = "default";
  std::map<std::string, Properties> catalogs;  // by name in lower case

  // Null where it is not configured. Names are the same in any case.
  const Properties* Find(const std::string& name) const;
};

// The first .pyiceberg.yaml of PYICEBERG_HOME, the home and the working directory, then
// the variables over it: PYICEBERG_CATALOG__PROD__S3__ACCESS_KEY_ID is s3.access-key-id
// of the catalog prod. kInvalid names the file and the line.
Result<CatalogConfiguration> ReadCatalogConfiguration();

// Adds what is configured for the URI and what the caller did not give:
//   iceberg://name/…      the catalog of that name, which must be there
//   iceberg+…://…         that named by the option `catalog`; else one with the same
//                         address; else the default one unless it has another address, so
//                         that its secrets go nowhere else
//   other URIs            options of sources alone: of the catalog named by `catalog`,
//   else
//                         of the default one where they do not contradict what is there
Status AddCatalogConfiguration(const std::string& uri, Properties* options);

// "iceberg+rest://…", "iceberg://name/…"
bool IsCatalogUri(const std::string& uri);

}  // namespace forebay::reader
