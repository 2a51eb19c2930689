#include "table/catalog/vended_options.h"

#include <string_view>

#include "model/source_options.h"

namespace forebay::table::catalog {
namespace {

constexpr std::string_view kSas = "adls.sas-token.";

bool IsTrue(const std::string& text) { return text == "true" || text == "True"; }

}  // namespace

void ApplyVended(const Properties& properties, source::Options* options) {
  if (properties.contains("s3.access-key-id")) {
    for (const char* key : {"s3.access-key-id", "s3.secret-access-key",
                            "s3.session-token", "s3.role-arn", "s3.anonymous"}) {
      options->erase(key);
    }
  }
  for (const auto& [name, value] : properties) {
    if (model::IsSourceOption(name)) {
      (*options)[name] = value;
    } else if (name.starts_with(kSas)) {
      // Java's names end with the account: "adls.sas-token.account.dfs.core.windows.net".
      (*options)["adls.sas-token"] = value;
      options->emplace(
          "adls.account-name",
          name.substr(kSas.size(), name.find('.', kSas.size()) - kSas.size()));
    } else if (name == "s3.path-style-access") {
      (*options)["s3.force-virtual-addressing"] = IsTrue(value) ? "false" : "true";
    }
  }
}

bool WantsRemoteSigning(const Properties& properties) {
  if (properties.contains("s3.access-key-id")) return false;
  auto enabled = properties.find("s3.remote-signing-enabled");
  return (enabled != properties.end() && IsTrue(enabled->second)) ||
         properties.contains("s3.signer");
}

}  // namespace forebay::table::catalog
