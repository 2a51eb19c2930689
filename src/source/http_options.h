// The options that all sources over HTTP share: http.*
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "http/client.h"
#include "source/retry.h"
#include "source/source.h"

namespace forebay::source {

struct HttpOptions {
  http::ClientOptions client;
  RetryPolicy retry;
};
Result<HttpOptions> ParseHttpOptions(const Options& options);

// The option's text; empty when it is not set.
std::string GetOption(const Options& options, const std::string& name);
// "true"/"false"/"1"/"0"; nullopt when not set.
Result<std::optional<bool>> GetFlag(const Options& options, const std::string& name);
// The first environment variable of the list that is set and not empty.
std::string FirstEnv(std::initializer_list<const char*> names);

}  // namespace forebay::source
