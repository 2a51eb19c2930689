#include "table/catalog/rest_auth.h"

#include <map>
#include <string>
#include <string_view>

#include "base/uri.h"
#include "source/http_options.h"

namespace forebay::table::catalog {
namespace {

using source::GetOption;

std::string Base64(std::string_view bytes) {
  constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t block = 0;
    for (size_t k = 0; k < 3; ++k) {
      block =
          block << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0);
    }
    for (size_t k = 0; k < 4; ++k) {
      bool there = i + k <= bytes.size();
      out += there ? kDigits[block >> (18 - 6 * k) & 63] : '=';
    }
  }
  return out;
}

Status UseToken(const std::string& token, RestSession* session) {
  session->KeepSecret(token);
  return session->SetHeader("Authorization", "Bearer " + token);
}

// What a token is asked for with.
struct TokenRequest {
  std::string url;
  std::map<std::string, std::string> form;
};

Status FetchToken(TokenRequest request, RestSession* session, Deadline deadline) {
  request.form["grant_type"] = "client_credentials";
  session->KeepSecret(request.form["client_secret"]);
  if (!request.url.starts_with("http://") && !request.url.starts_with("https://")) {
    return Status::Invalid("oauth2-server-uri begins with http:// or https://, not as " +
                           RedactUri(request.url));
  }
  std::string what = "the OAuth2 server " + RedactUri(request.url) + " gave no token";
  FB_ASSIGN_OR_RETURN(RestAnswer answer,
                      session->PostForm(request.url, request.form, deadline));
  // RFC 6749: a wrong credential is 400 or 401.
  if (answer.status == 400) answer.status = 401;
  FB_ASSIGN_OR_RETURN(nlohmann::json body, session->Body(answer, what));
  auto token = body.find("access_token");
  if (token == body.end() || !token->is_string()) {
    return Status::Corrupt(what + ": its answer has no access_token");
  }
  return UseToken(token->get<std::string>(), session);
}

void AddGiven(const source::Options& options, const std::string& option,
              const std::string& parameter, TokenRequest* request) {
  std::string value = GetOption(options, option);
  if (!value.empty()) request->form[parameter] = value;
}

Status UseCredential(const std::string& credential, const source::Options& options,
                     RestSession* session, Deadline deadline) {
  TokenRequest request{GetOption(options, "oauth2-server-uri"), {{"scope", "catalog"}}};
  if (request.url.empty()) request.url = session->endpoint() + "/v1/oauth/tokens";
  size_t colon = credential.find(':');
  if (colon != credential.npos) request.form["client_id"] = credential.substr(0, colon);
  request.form["client_secret"] =
      colon == credential.npos ? credential : credential.substr(colon + 1);
  session->KeepSecret(credential);
  for (const char* name : {"scope", "audience", "resource"}) {
    AddGiven(options, name, name, &request);
  }
  return FetchToken(std::move(request), session, deadline);
}

// PyIceberg's `auth` section: its name for each kind, then that kind's settings.
Status UseAuthSection(const source::Options& options, RestSession* session,
                      Deadline deadline) {
  std::string type = GetOption(options, "auth.type");
  if (type.empty() || type == "noop") return Status::OK();
  if (type == "basic") {
    std::string password = GetOption(options, "auth.basic.password");
    session->KeepSecret(password);
    return session->SetHeader(
        "Authorization",
        "Basic " + Base64(GetOption(options, "auth.basic.username") + ":" + password));
  }
  if (type == "oauth2") {
    TokenRequest request{GetOption(options, "auth.oauth2.token_url"), {}};
    for (const char* name : {"client_id", "client_secret", "scope"}) {
      AddGiven(options, std::string("auth.oauth2.") + name, name, &request);
    }
    return FetchToken(std::move(request), session, deadline);
  }
  return Status::Unsupported(
      "Forebay does not know auth.type '" + type +
      "' of REST catalogs: use basic, oauth2, token or credential");
}

}  // namespace

Status Authenticate(const source::Options& options, RestSession* session,
                    Deadline deadline) {
  if (GetOption(options, "rest.sigv4-enabled") == "true") {
    return Status::Unsupported(
        "Forebay does not sign requests to REST catalogs (rest.sigv4-enabled): name the "
        "table's metadata file instead");
  }
  std::string credential = GetOption(options, "credential");
  if (!credential.empty()) return UseCredential(credential, options, session, deadline);
  std::string token = GetOption(options, "token");
  if (!token.empty()) return UseToken(token, session);
  return UseAuthSection(options, session, deadline);
}

}  // namespace forebay::table::catalog
