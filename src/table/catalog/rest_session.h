// One conversation with an Iceberg REST catalog: headers, retries, and errors that name
// the catalog and never a token or a secret.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "http/client.h"
#include "source/retry.h"
#include "source/source.h"

namespace forebay::table::catalog {

// An answer of any status that is not to be tried again.
struct RestAnswer {
  int status = 0;
  std::string text;
  std::string location;  // of a redirect

  bool ok() const { return status >= 200 && status < 300; }
};

class RestSession {
 public:
  // Takes http.* and header.* of the options.
  static Result<std::unique_ptr<RestSession>> Make(const std::string& endpoint,
                                                   const source::Options& options);

  const std::string& endpoint() const { return endpoint_; }
  // For the rest of the conversation. A catalog may send its clients elsewhere.
  void set_endpoint(std::string endpoint) { endpoint_ = std::move(endpoint); }
  Status SetHeader(const std::string& name, const std::string& value);
  // Never to be shown, wherever it may come up.
  void KeepSecret(const std::string& secret);

  // GET {endpoint}/v1/{path}. Tries again what is kUnavailable.
  Result<RestAnswer> Get(const std::string& path, Deadline deadline);
  // A form, to any URL.
  Result<RestAnswer> PostForm(const std::string& url,
                              const std::map<std::string, std::string>& form,
                              Deadline deadline);

  // The body of a good answer; what a bad one means otherwise. `what` begins the
  // sentence: "the catalog http://… did not load db.events".
  Result<nlohmann::json> Body(const RestAnswer& answer, std::string_view what) const;
  // "the catalog http://host:8181"
  std::string Name() const;

 private:
  RestSession(std::string endpoint, http::ClientOptions client,
              source::RetryPolicy retry);
  Result<RestAnswer> Send(const http::Request& request, Deadline deadline);
  std::string Redacted(std::string text) const;
  std::string Detail(const RestAnswer& answer) const;

  std::string endpoint_;
  http::Client client_;
  source::RetryPolicy retry_;
  source::Stats stats_;
  std::vector<http::Header> headers_;
  std::vector<std::string> secrets_;
};

// Parses JSON that a server sent: no exceptions, no deep nesting. nullopt: it is none.
std::optional<nlohmann::json> ParseUntrusted(std::string_view text);

}  // namespace forebay::table::catalog
