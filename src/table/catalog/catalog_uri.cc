#include "table/catalog/catalog_uri.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>

#include "base/uri.h"
#include "http/percent.h"
#include "source/http_options.h"

namespace forebay::table::catalog {
namespace {

constexpr std::string_view kRestExample = "iceberg+rest://host:8181/db.events";
constexpr std::string_view kSqliteExample = "iceberg+sqlite:///path/catalog.db/db.events";

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

Status CheckEndpoint(std::string_view endpoint) {
  if (!endpoint.starts_with("http://") && !endpoint.starts_with("https://")) {
    return Status::Invalid(
        "the address of a REST catalog begins with http:// or "
        "https://, not as " +
        RedactUri(endpoint));
  }
  std::string_view host = endpoint.substr(endpoint.find("://") + 3);
  host = host.substr(0, host.find('/'));
  if (host.empty() || host.find('@') != host.npos) {
    return Status::Invalid(
        "the address of a REST catalog names a host and no user or "
        "password: give these as token= or credential=");
  }
  if (endpoint.find_first_of(" \t\r\n?#") != endpoint.npos) {
    return Status::Invalid(
        "the address of a REST catalog holds no blanks and no query: " +
        RedactUri(endpoint));
  }
  return Status::OK();
}

Result<CatalogAddress> MakeRest(std::string endpoint, std::string_view table) {
  FB_RETURN_NOT_OK(CheckEndpoint(endpoint));
  while (endpoint.ends_with('/')) endpoint.pop_back();
  CatalogAddress address{CatalogKind::kRest, std::move(endpoint), {}};
  FB_ASSIGN_OR_RETURN(address.name, ParseTableName(table));
  return address;
}

// `rest` is what follows "://".
Result<CatalogAddress> ParseRest(std::string_view protocol, std::string_view rest,
                                 const source::Options& options) {
  size_t slash = rest.rfind('/');
  if (slash == rest.npos) {
    return Status::Invalid("the URI names no table: write " + std::string(kRestExample));
  }
  std::string endpoint = source::GetOption(options, "uri");
  if (endpoint.empty()) {
    endpoint = std::string(protocol) + "://" + std::string(rest.substr(0, slash));
  }
  return MakeRest(std::move(endpoint), rest.substr(slash + 1));
}

bool IsFile(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

Result<CatalogAddress> ParseSqlite(std::string_view path) {
  if (!path.starts_with('/')) {
    return Status::Invalid("a catalog in SQLite is named by an absolute path: write " +
                           std::string(kSqliteExample));
  }
  for (size_t slash = path.rfind('/'); slash > 0 && slash != path.npos;
       slash = path.rfind('/', slash - 1)) {
    std::string file(path.substr(0, slash));
    if (!IsFile(file)) continue;
    CatalogAddress address{CatalogKind::kSqlite, file, {}};
    FB_ASSIGN_OR_RETURN(address.name, ParseTableName(path.substr(slash + 1)));
    return address;
  }
  if (IsFile(std::string(path))) {
    return Status::Invalid("the URI names a database and no table in it: write " +
                           std::string(path) + "/db.events");
  }
  return Status::NotFound(
      "no part of " + std::string(path) +
      " is a file: write the path of the database, then the table, as " +
      std::string(kSqliteExample));
}

// A catalog by its name in the configuration, which the reader has added to the options.
Result<CatalogAddress> ParseNamed(std::string_view rest, const source::Options& options) {
  size_t slash = rest.find('/');
  std::string name(rest.substr(0, slash));
  std::string_view table = slash == rest.npos ? "" : rest.substr(slash + 1);
  std::string uri = source::GetOption(options, "uri");
  std::string type = Lower(source::GetOption(options, "type"));
  if (uri.empty()) {
    return Status::NotFound(
        "the catalog '" + name +
        "' has no uri: add it to .pyiceberg.yaml or PYICEBERG_CATALOG__…, or give uri=");
  }
  if (type == "rest" || (type.empty() && uri.starts_with("http"))) {
    return MakeRest(std::move(uri), table);
  }
  constexpr std::string_view kSqlite = "sqlite:///";
  if ((type == "sql" || type.empty()) && uri.starts_with(kSqlite)) {
    CatalogAddress address{CatalogKind::kSqlite, uri.substr(kSqlite.size()), {}};
    FB_ASSIGN_OR_RETURN(address.name, ParseTableName(table));
    return address;
  }
  return Status::Unsupported("the catalog '" + name +
                             "' is of a kind that Forebay does not ask" +
                             (type.empty() ? "" : " (" + type + ")") +
                             ": it asks REST catalogs and SQL catalogs in SQLite; name "
                             "the table's metadata file "
                             "instead");
}

}  // namespace

std::string TableName::Namespace() const {
  std::string out;
  for (const std::string& level : levels) out += (out.empty() ? "" : ".") + level;
  return out;
}

std::string TableName::ToString() const { return Namespace() + "." + table; }

Result<TableName> ParseTableName(std::string_view text) {
  TableName name;
  std::string_view rest = text;
  bool complete = !text.empty() && text.find('/') == text.npos;
  while (complete) {
    size_t dot = std::min(rest.find('.'), rest.size());
    name.levels.push_back(http::PercentDecode(rest.substr(0, dot)));
    complete = !name.levels.back().empty();
    if (dot == rest.size()) break;
    rest.remove_prefix(dot + 1);
  }
  if (!complete || name.levels.size() < 2) {
    return Status::Invalid(
        "a table of a catalog is named by its namespace and its name, as "
        "db.events, not '" +
        std::string(text) + "'");
  }
  name.table = std::move(name.levels.back());
  name.levels.pop_back();
  return name;
}

Result<CatalogAddress> ParseCatalogUri(const std::string& uri,
                                       const source::Options& options) {
  size_t mark = uri.find("://");
  if (mark == uri.npos) return Status::Invalid("not the URI of a catalog: " + uri);
  std::string scheme = Lower(std::string_view(uri).substr(0, mark));
  std::string_view rest = std::string_view(uri).substr(mark + 3);
  if (scheme == "iceberg+rest" || scheme == "iceberg+rest+http") {
    return ParseRest("http", rest, options);
  }
  if (scheme == "iceberg+rest+https") return ParseRest("https", rest, options);
  if (scheme == "iceberg+sqlite") return ParseSqlite(rest);
  if (scheme == "iceberg") return ParseNamed(rest, options);
  return Status::Unsupported(
      "no catalog is asked by " + scheme + "://: use " + std::string(kRestExample) +
      ", " + std::string(kSqliteExample) + " or iceberg://name/db.events");
}

}  // namespace forebay::table::catalog
