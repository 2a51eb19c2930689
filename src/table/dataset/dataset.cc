#include "table/dataset/dataset.h"

#include "base/uri.h"
#include "table/catalog/catalog_table.h"
#include "table/dataset/find_metadata.h"
#include "table/dataset/folder_dataset.h"
#include "table/dataset/iceberg_dataset.h"
#include "table/dataset/routed_source.h"
#include "table/dataset/table_options.h"
#include "table/glob.h"

namespace forebay::table {
namespace {

// A source for all places that a table's metadata may lead to.
Result<std::shared_ptr<source::Source>> Routed(const DatasetRequest& request,
                                               const std::string& home_uri,
                                               const source::Options& options) {
  FB_ASSIGN_OR_RETURN(auto home, request.open_source(home_uri, options));
  auto find = [open = request.open_source, options](const std::string& uri) {
    return open(uri, options);
  };
  return RouteSources(std::move(home), std::move(find));
}

Result<std::unique_ptr<Dataset>> PinFromCatalog(const DatasetRequest& request,
                                                TableOptions options) {
  FB_ASSIGN_OR_RETURN(
      auto table, catalog::LoadCatalogTable(request.uri, options.rest, request.deadline));
  FB_ASSIGN_OR_RETURN(auto source,
                      Routed(request, table.metadata_location, table.options));
  options.rest = std::move(table.options);
  return PinIceberg({table.metadata_location, std::move(table.metadata_json)}, options,
                    std::move(source), request.deadline);
}

// The metadata file of a table given by path; nothing where it is no Iceberg table.
Result<std::optional<std::string>> MetadataOf(const std::string& uri,
                                              source::Source& source, Deadline deadline) {
  if (IsMetadataName(uri)) return std::optional(uri);
  if (IsGlob(uri)) return std::optional<std::string>();
  if (!uri.ends_with('/') && source.Stat(uri, deadline).ok()) {
    return std::optional<std::string>();
  }
  return FindMetadata(source, uri, deadline);
}

}  // namespace

Result<std::unique_ptr<Dataset>> PinDataset(const DatasetRequest& request) {
  FB_ASSIGN_OR_RETURN(TableOptions options, ParseTableOptions(request.options));
  if (catalog::IsCatalogUri(request.uri)) {
    return PinFromCatalog(request, std::move(options));
  }
  FB_ASSIGN_OR_RETURN(Uri parsed, Uri::Parse(request.uri));
  FB_ASSIGN_OR_RETURN(auto source, request.open_source(request.uri, options.rest));
  FB_ASSIGN_OR_RETURN(auto metadata,
                      MetadataOf(parsed.ToString(), *source, request.deadline));
  if (!metadata) return PinFolder(request, options, std::move(source));
  FB_ASSIGN_OR_RETURN(auto routed, Routed(request, *metadata, options.rest));
  return PinIceberg({*metadata}, options, std::move(routed), request.deadline);
}

Result<std::shared_ptr<source::Source>> SourceOf(const DatasetRequest& request,
                                                 const model::Manifest& manifest) {
  FB_ASSIGN_OR_RETURN(TableOptions options, ParseTableOptions(request.options));
  if (!IsIceberg(manifest)) return request.open_source(request.uri, options.rest);
  if (!catalog::IsCatalogUri(request.uri)) {
    return Routed(request, request.uri, options.rest);
  }
  FB_ASSIGN_OR_RETURN(
      auto table, catalog::LoadCatalogTable(request.uri, options.rest, request.deadline));
  return Routed(request, table.metadata_location, table.options);
}

}  // namespace forebay::table
