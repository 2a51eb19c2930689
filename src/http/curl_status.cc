#include "http/curl_status.h"

#include <string>

namespace forebay::http {
namespace {

StatusCode CodeOf(CURLcode code) {
  switch (code) {
    case CURLE_OK: return StatusCode::kOk;
    case CURLE_URL_MALFORMAT:
    case CURLE_TOO_MANY_REDIRECTS:
    // Trying again does not make a certificate valid.
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR: return StatusCode::kInvalid;
    case CURLE_LOGIN_DENIED:
    case CURLE_REMOTE_ACCESS_DENIED: return StatusCode::kPermission;
    case CURLE_OUT_OF_MEMORY: return StatusCode::kFull;
    case CURLE_NOT_BUILT_IN: return StatusCode::kUnsupported;
    case CURLE_BAD_FUNCTION_ARGUMENT:
    case CURLE_FAILED_INIT: return StatusCode::kInternal;
    // The network's faults: no name, no connection, reset, stall, cut or garbled answers
    // (which curl calls CURLE_UNSUPPORTED_PROTOCOL when they do not look like HTTP).
    default: return StatusCode::kUnavailable;
  }
}

}  // namespace

Status FromCurl(CURLcode code, const char* detail) {
  if (code == CURLE_OK) return Status::OK();
  std::string message =
      detail != nullptr && *detail != '\0' ? detail : curl_easy_strerror(code);
  if (CodeOf(code) == StatusCode::kInvalid && code != CURLE_URL_MALFORMAT &&
      code != CURLE_TOO_MANY_REDIRECTS) {
    message += "; name the certificates to trust with the option http.ca-file";
  }
  return {CodeOf(code), std::move(message)};
}

}  // namespace forebay::http
