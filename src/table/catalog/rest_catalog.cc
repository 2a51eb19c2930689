#include "table/catalog/rest_catalog.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "http/percent.h"
#include "source/http_options.h"
#include "table/catalog/rest_auth.h"
#include "table/catalog/rest_session.h"
#include "table/catalog/vended_options.h"

namespace forebay::table::catalog {
namespace {

using nlohmann::json;

constexpr size_t kListedMax = 10;

// The texts of an object; numbers and booleans as texts too, everything else left out.
Properties PropertiesOf(const json& object, const char* name) {
  Properties out;
  auto found = object.find(name);
  if (found == object.end() || !found->is_object()) return out;
  for (const auto& [key, value] : found->items()) {
    if (value.is_string()) {
      out[key] = value.get<std::string>();
    } else if (value.is_primitive() && !value.is_null()) {
      out[key] = value.dump();
    }
  }
  return out;
}

std::string TextOf(const json& object, const char* name) {
  auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string Get(const Properties& properties, const std::string& name,
                const std::string& otherwise) {
  auto found = properties.find(name);
  return found == properties.end() ? otherwise : found->second;
}

// What GET /v1/config says: the caller's options stand over the defaults and under the
// overrides.
struct Config {
  Properties defaults;
  Properties overrides;

  std::string Find(const source::Options& options, const std::string& name) const {
    std::string given = source::GetOption(options, name);
    if (given.empty()) given = Get(defaults, name, "");
    return Get(overrides, name, given);
  }
};

Result<Config> FetchConfig(const source::Options& options, RestSession* session,
                           Deadline deadline) {
  std::string path = "config";
  std::string warehouse = source::GetOption(options, "warehouse");
  if (!warehouse.empty()) path += "?warehouse=" + http::PercentEncode(warehouse);
  FB_ASSIGN_OR_RETURN(RestAnswer answer, session->Get(path, deadline));
  std::string what = session->Name() + " did not give its configuration";
  if (!warehouse.empty()) what += " for the warehouse '" + warehouse + "'";
  auto body = session->Body(answer, what);
  if (body.status().code() == StatusCode::kNotFound) {
    return Status::NotFound(body.status().message() +
                            "; check the address, its path and the warehouse");
  }
  if (!body.ok()) return body.status();
  return Config{PropertiesOf(*body, "defaults"), PropertiesOf(*body, "overrides")};
}

// The caller's endpoint, or where the catalog sends its clients.
Status FollowConfig(const Config& config, RestSession* session) {
  std::string uri = Get(config.overrides, "uri", "");
  while (uri.ends_with('/')) uri.pop_back();
  if (!uri.empty()) {
    if (!uri.starts_with("http://") && !uri.starts_with("https://")) {
      return Status::Corrupt(session->Name() + " names an address that is none");
    }
    session->set_endpoint(uri);
  }
  std::string token = Get(config.overrides, "token", "");
  if (token.empty()) return Status::OK();
  session->KeepSecret(token);
  return session->SetHeader("Authorization", "Bearer " + token);
}

// "v1/{prefix}/namespaces/{levels}/tables", without "v1/".
Result<std::string> TablesPath(const Config& config, const source::Options& options,
                               const TableName& name) {
  std::string prefix = config.Find(options, "prefix");
  while (prefix.starts_with('/')) prefix.erase(0, 1);
  while (prefix.ends_with('/')) prefix.pop_back();
  if (prefix.find_first_of(" \t\r\n?#") != prefix.npos) {
    return Status::Invalid("the prefix of the catalog must hold no blanks and no query");
  }
  std::string separator = config.Find(options, "namespace-separator");
  separator = separator.empty() ? "\x1f" : http::PercentDecode(separator);
  std::string levels;
  for (const std::string& level : name.levels) {
    if (!levels.empty()) levels += http::PercentEncode(separator);
    levels += http::PercentEncode(level);
  }
  return (prefix.empty() ? "" : prefix + "/") + "namespaces/" + levels + "/tables";
}

// Names of tables for the sentence that says that one is not there; empty when unknown.
std::string Nearby(const std::string& tables_path, const TableName& name,
                   RestSession* session, Deadline deadline) {
  auto answer = session->Get(tables_path, deadline);
  if (!answer.ok()) return {};
  if (answer->status == 404) return "there is no namespace " + name.Namespace();
  auto body = session->Body(*answer, "");
  if (!body.ok()) return {};
  auto identifiers = body->find("identifiers");
  if (identifiers == body->end() || !identifiers->is_array()) return {};
  std::string listed;
  for (size_t i = 0; i < identifiers->size() && i < kListedMax; ++i) {
    const json& identifier = (*identifiers)[i];
    std::string table = identifier.is_object() ? TextOf(identifier, "name") : "";
    listed += (i == 0 ? "" : ", ") + name.Namespace() + "." + table;
  }
  if (listed.empty()) return "the namespace " + name.Namespace() + " has no tables";
  size_t more = identifiers->size() - std::min(identifiers->size(), kListedMax);
  return "there are " + listed + (more > 0 ? " and more" : "");
}

Result<json> FetchTable(const std::string& tables_path, const TableName& name,
                        RestSession* session, Deadline deadline) {
  std::string path = tables_path + "/" + http::PercentEncode(name.table);
  FB_ASSIGN_OR_RETURN(RestAnswer answer, session->Get(path, deadline));
  if (answer.status == 404) {
    std::string nearby = Nearby(tables_path, name, session, deadline);
    return Status::NotFound(session->Name() + " has no table " + name.ToString() +
                            (nearby.empty() ? "; check the name" : ": " + nearby));
  }
  return session->Body(answer, session->Name() + " did not load " + name.ToString());
}

// Of the credentials, those for the longest prefix of the table's place.
Properties CredentialsFor(const std::string& location, const json& table) {
  auto all = table.find("storage-credentials");
  if (all == table.end() || !all->is_array()) return {};
  const json* best = nullptr;
  size_t best_size = 0;
  for (const json& credential : *all) {
    if (!credential.is_object()) continue;
    std::string prefix = TextOf(credential, "prefix");
    if (!location.starts_with(prefix)) continue;
    if (best != nullptr && prefix.size() <= best_size) continue;
    best = &credential;
    best_size = prefix.size();
  }
  return best == nullptr ? Properties() : PropertiesOf(*best, "config");
}

source::Options UnderDefaults(const Config& config, const source::Options& options) {
  source::Options out;
  ApplyVended(config.defaults, &out);
  bool own_keys = options.contains("s3.access-key-id");
  if (own_keys) out.erase("s3.session-token");
  for (const auto& [name, value] : options) out[name] = value;
  return out;
}

Result<CatalogTable> MakeTable(const json& answer, const Config& config,
                               const source::Options& options, const std::string& what) {
  CatalogTable table;
  table.metadata_location = TextOf(answer, "metadata-location");
  if (table.metadata_location.empty()) {
    return Status::Corrupt(what + ": its answer has no metadata-location");
  }
  auto metadata = answer.find("metadata");
  if (metadata != answer.end() && metadata->is_object()) {
    table.metadata_json = metadata->dump(-1, ' ', false, json::error_handler_t::replace);
  }
  Properties vended = PropertiesOf(answer, "config");
  for (auto& [name, value] : CredentialsFor(table.metadata_location, answer)) {
    vended[name] = value;
  }
  table.options = UnderDefaults(config, options);
  ApplyVended(config.overrides, &table.options);
  ApplyVended(vended, &table.options);
  if (WantsRemoteSigning(vended) && !table.options.contains("s3.access-key-id")) {
    return Status::Unsupported(
        what +
        ": it signs every request to S3 itself, which Forebay does "
        "not do; give s3.access-key-id and s3.secret-access-key");
  }
  return table;
}

}  // namespace

Result<CatalogTable> LoadRestTable(const CatalogAddress& address,
                                   const source::Options& options, Deadline deadline) {
  FB_ASSIGN_OR_RETURN(auto session, RestSession::Make(address.place, options));
  FB_RETURN_NOT_OK(Authenticate(options, session.get(), deadline));
  FB_ASSIGN_OR_RETURN(Config config, FetchConfig(options, session.get(), deadline));
  FB_RETURN_NOT_OK(FollowConfig(config, session.get()));
  FB_ASSIGN_OR_RETURN(std::string path, TablesPath(config, options, address.name));
  FB_ASSIGN_OR_RETURN(json answer,
                      FetchTable(path, address.name, session.get(), deadline));
  return MakeTable(answer, config, options,
                   session->Name() + " did not load " + address.name.ToString());
}

}  // namespace forebay::table::catalog
