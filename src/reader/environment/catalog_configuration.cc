#include "reader/environment/catalog_configuration.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

#include "model/source_options.h"
#include "reader/environment/plain_yaml.h"

namespace forebay::reader {
namespace {

constexpr uintmax_t kFileBytesMax = 1 << 20;

// Options that belong together: where the caller gave one, the others are not filled in.
constexpr std::array<std::string_view, 3> kIdentity = {"token", "credential", "auth."};
constexpr std::array<std::string_view, 4> kKeys = {
    "s3.access-key-id", "s3.secret-access-key", "s3.session-token", "s3.role-arn"};

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string Env(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

void Set(const std::vector<std::string>& path, const std::string& text,
         CatalogConfiguration* out) {
  if (path.size() == 1 && path[0] == "default-catalog" && !text.empty()) {
    out->default_name = text;
  }
  if (path.size() < 3 || path[0] != "catalog") return;
  std::string key = path[2];
  for (size_t i = 3; i < path.size(); ++i) key += "." + path[i];
  out->catalogs[path[1]][key] = text;
}

Status ReadFile(const std::string& file, CatalogConfiguration* out) {
  std::error_code error;
  if (std::filesystem::file_size(file, error) > kFileBytesMax || error) {
    return Status::Invalid(file +
                           " cannot be read, or is no configuration: it is too large");
  }
  std::ifstream stream(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream) return Status::Permission(file + " cannot be read");
  auto entries = ParsePlainYaml(text);
  if (!entries.ok()) return entries.status().WithContext(file);
  for (YamlEntry& entry : *entries) {
    for (std::string& key : entry.path) key = Lower(key);
    Set(entry.path, entry.text, out);
  }
  return Status::OK();
}

std::string Replaced(std::string text, std::string_view from, char to) {
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + 1)) {
    text.replace(at, from.size(), 1, to);
  }
  return text;
}

// "catalog__prod__s3__endpoint" → catalog, prod, s3.endpoint.
std::vector<std::string> PathOf(std::string_view key) {
  std::vector<std::string> path;
  while (path.size() < 2 && key.find("__") != key.npos) {
    path.emplace_back(key.substr(0, key.find("__")));
    key.remove_prefix(path.back().size() + 2);
  }
  path.emplace_back(key);
  for (std::string& part : path) part = Replaced(Replaced(part, "__", '.'), "_", '-');
  return path;
}

void ReadVariables(CatalogConfiguration* out) {
  constexpr std::string_view kPrefix = "pyiceberg_";
  for (char** variable = environ; variable != nullptr && *variable != nullptr;
       ++variable) {
    std::string_view text = *variable;
    size_t equals = text.find('=');
    if (equals == text.npos || equals + 1 == text.size()) continue;
    std::string name = Lower(text.substr(0, equals));
    if (!name.starts_with(kPrefix)) continue;
    Set(PathOf(std::string_view(name).substr(kPrefix.size())),
        std::string(text.substr(equals + 1)), out);
  }
}

bool StartsWithAny(const std::string& name, auto prefixes) {
  return std::ranges::any_of(prefixes,
                             [&](std::string_view p) { return name.starts_with(p); });
}

bool AnyStartsWith(const Properties& options, auto prefixes) {
  return std::ranges::any_of(
      options, [&](const auto& option) { return StartsWithAny(option.first, prefixes); });
}

// Which of a catalog's properties are wanted.
struct Wanted {
  bool catalog = false;  // those the catalog itself is asked with
  bool address = false;  // its uri and type
};

void Merge(const Properties& from, Wanted wanted, Properties* options) {
  bool identity_given = AnyStartsWith(*options, kIdentity);
  bool keys_given = AnyStartsWith(*options, kKeys);
  for (const auto& [name, value] : from) {
    bool address = name == "uri" || name == "type";
    bool taken = address ? wanted.address
                         : model::IsSourceOption(name) ||
                               (wanted.catalog && model::IsCatalogOption(name));
    if (!taken || value.empty()) continue;
    if (identity_given && StartsWithAny(name, kIdentity)) continue;
    if (keys_given && StartsWithAny(name, kKeys)) continue;
    options->emplace(name, value);
  }
}

// Scheme and host in lower case, no slash at the end.
std::string NormalAddress(std::string address) {
  size_t host = address.find("://");
  size_t path = host == address.npos ? 0 : address.find('/', host + 3);
  path = std::min(path, address.size());
  address = Lower(std::string_view(address).substr(0, path)) + address.substr(path);
  while (address.ends_with('/')) address.pop_back();
  return address;
}

// What a catalog's `uri` would be for this URI: "http://host:8181/base".
std::string AddressOf(const std::string& uri) {
  size_t mark = uri.find("://");
  std::string scheme = Lower(std::string_view(uri).substr(0, mark));
  std::string rest = uri.substr(mark + 3, uri.rfind('/') - mark - 3);
  if (scheme == "iceberg+sqlite") return "sqlite:///" + rest;
  return NormalAddress((scheme.ends_with("+https") ? "https://" : "http://") + rest);
}

std::string Get(const Properties& properties, const std::string& name) {
  auto found = properties.find(name);
  return found == properties.end() ? std::string() : found->second;
}

const Properties* Matching(const CatalogConfiguration& configuration,
                           const std::string& uri, const Properties& options) {
  std::string address = Get(options, "uri");
  address = address.empty() ? AddressOf(uri) : NormalAddress(address);
  const Properties* preferred = configuration.Find(configuration.default_name);
  auto fits = [&](const Properties& catalog) {
    return NormalAddress(Get(catalog, "uri")) == address;
  };
  if (preferred != nullptr && (fits(*preferred) || Get(*preferred, "uri").empty())) {
    return preferred;
  }
  for (const auto& [name, catalog] : configuration.catalogs) {
    if (fits(catalog)) return &catalog;
  }
  return nullptr;
}

Status NotConfigured(const CatalogConfiguration& configuration, const std::string& name) {
  std::string known;
  for (const auto& [other, properties] : configuration.catalogs) {
    known += (known.empty() ? "" : ", ") + other;
  }
  return Status::NotFound("there is no catalog '" + name +
                          "' in .pyiceberg.yaml or in "
                          "PYICEBERG_CATALOG__… variables" +
                          (known.empty() ? "" : ": there are " + known));
}

// A database is where the caller is, not where the node is.
void MakeAbsolute(Properties* options) {
  constexpr std::string_view kSqlite = "sqlite:///";
  std::string& uri = (*options)["uri"];
  if (!uri.starts_with(kSqlite) || uri.starts_with("sqlite:////")) return;
  std::error_code error;
  auto path = std::filesystem::absolute(uri.substr(kSqlite.size()), error);
  if (!error) uri = std::string(kSqlite) + path.lexically_normal().string();
}

Status AddNamed(const std::string& uri, Properties* options) {
  constexpr std::string_view kScheme = "iceberg://";
  std::string name = uri.substr(kScheme.size());
  name = name.substr(0, name.find('/'));
  FB_ASSIGN_OR_RETURN(CatalogConfiguration configuration, ReadCatalogConfiguration());
  const Properties* catalog = configuration.Find(name);
  if (catalog == nullptr && !options->contains("uri")) {
    return NotConfigured(configuration, name);
  }
  if (catalog != nullptr) Merge(*catalog, {.catalog = true, .address = true}, options);
  options->emplace("catalog", name);
  MakeAbsolute(options);
  return Status::OK();
}

bool Contradicts(const Properties& catalog, const Properties& options) {
  return std::ranges::any_of(std::array{"s3.endpoint", "s3.access-key-id"},
                             [&](const char* name) {
                               std::string given = Get(options, name);
                               std::string other = Get(catalog, name);
                               return !given.empty() && !other.empty() && given != other;
                             });
}

// A plain URI needs no catalog: only an explicit one may fail it.
Status AddToPlain(Properties* options) {
  std::string name = Get(*options, "catalog");
  auto configuration = ReadCatalogConfiguration();
  if (!configuration.ok()) return name.empty() ? Status::OK() : configuration.status();
  const Properties* catalog =
      configuration->Find(name.empty() ? configuration->default_name : name);
  if (catalog == nullptr) {
    return name.empty() ? Status::OK() : NotConfigured(*configuration, name);
  }
  if (name.empty() && Contradicts(*catalog, *options)) return Status::OK();
  Merge(*catalog, {}, options);
  return Status::OK();
}

}  // namespace

const Properties* CatalogConfiguration::Find(const std::string& name) const {
  auto found = catalogs.find(Lower(name));
  return found == catalogs.end() ? nullptr : &found->second;
}

Result<CatalogConfiguration> ReadCatalogConfiguration() {
  CatalogConfiguration configuration;
  std::error_code error;
  for (const std::string& folder :
       {Env("PYICEBERG_HOME"), Env("HOME"), std::string(".")}) {
    std::string file = folder + "/.pyiceberg.yaml";
    if (folder.empty() || !std::filesystem::is_regular_file(file, error)) continue;
    FB_RETURN_NOT_OK(ReadFile(file, &configuration));
    break;
  }
  ReadVariables(&configuration);
  return configuration;
}

bool IsCatalogUri(const std::string& uri) {
  return uri.starts_with("iceberg+") || uri.starts_with("iceberg://");
}

Status AddCatalogConfiguration(const std::string& uri, Properties* options) {
  if (uri.starts_with("iceberg://")) return AddNamed(uri, options);
  if (!IsCatalogUri(uri)) return AddToPlain(options);
  FB_ASSIGN_OR_RETURN(CatalogConfiguration configuration, ReadCatalogConfiguration());
  std::string name = Get(*options, "catalog");
  const Properties* catalog =
      name.empty() ? Matching(configuration, uri, *options) : configuration.Find(name);
  if (catalog != nullptr) Merge(*catalog, {.catalog = true}, options);
  return Status::OK();
}

}  // namespace forebay::reader
