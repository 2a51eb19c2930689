// The keys an S3 source signs with: given ones, or what Arrow's AWS chain finds (profile,
// instance metadata, web identity, assumed role). Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "base/clock.h"
#include "base/status.h"
#include "http/message.h"
#include "source/s3_options.h"

namespace forebay::source {

class S3Credentials {
 public:
  explicit S3Credentials(const S3Options& options);

  // nullopt: requests are not signed. The region is left empty. Keys from the chain are
  // asked for again after five minutes, since they may have been renewed.
  Result<std::optional<http::Signing>> Get(Deadline deadline);
  // The server called the keys expired: the next Get asks anew. False when that can't
  // help, because the keys were given by hand.
  bool Expire();

 private:
  S3Options options_;
  std::mutex mutex_;
  std::optional<http::Signing> keys_;
  TimePoint asked_at_{};
};

}  // namespace forebay::source
