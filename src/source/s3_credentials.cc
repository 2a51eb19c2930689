#include "source/s3_credentials.h"

#include <arrow/filesystem/s3fs.h>

#include <cstdlib>
#include <string>

#include "base/arrow_status.h"
#include "source/deadline_call.h"

namespace forebay::source {
namespace {

constexpr std::chrono::minutes kAskAgainAfter{5};

// Takes tenths of a second, so it waits for the first source that needs the chain.
Status InitArrowS3Once() {
  static const Status status = [] {
    arrow::fs::S3GlobalOptions options = arrow::fs::S3GlobalOptions::Defaults();
    options.log_level = arrow::fs::S3LogLevel::Off;
    Status initialized = FromArrow(arrow::fs::InitializeS3(options));
    // Without it the SDK's threads outlive main and crash at exit.
    if (initialized.ok()) std::atexit([] { (void)arrow::fs::EnsureS3Finalized(); });
    return initialized;
  }();
  return status;
}

Result<http::Signing> AskArrow(const S3Options& options) {
  FB_RETURN_NOT_OK(InitArrowS3Once());
  arrow::fs::S3Options chain = options.access == S3Access::kRole
                                   ? arrow::fs::S3Options::FromAssumeRole(
                                         options.role_arn, options.role_session_name)
                                   : arrow::fs::S3Options::Defaults();
  http::Signing keys;
  // Key, secret and token are asked for one by one: renewed keys must not be mixed.
  for (int i = 0; i < 3; ++i) {
    keys.access_key = chain.GetAccessKey();
    keys.secret_key = chain.GetSecretKey();
    keys.session_token = chain.GetSessionToken();
    if (chain.GetAccessKey() == keys.access_key) break;
  }
  if (keys.access_key.empty()) {
    return Status::Permission(
        "no S3 credentials were found: set s3.access-key-id and s3.secret-access-key, "
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or s3.anonymous=true for public "
        "buckets");
  }
  return keys;
}

}  // namespace

S3Credentials::S3Credentials(const S3Options& options) : options_(options) {
  if (options_.access != S3Access::kKeys) return;
  http::Signing keys;
  keys.access_key = options_.access_key;
  keys.secret_key = options_.secret_key;
  keys.session_token = options_.session_token;
  keys_ = keys;
}

Result<std::optional<http::Signing>> S3Credentials::Get(Deadline deadline) {
  if (options_.access == S3Access::kAnonymous) return std::optional<http::Signing>();
  std::lock_guard lock(mutex_);
  auto now = std::chrono::steady_clock::now();
  bool given = options_.access == S3Access::kKeys;
  if (keys_.has_value() && (given || now - asked_at_ < kAskAgainAfter)) return keys_;
  FB_ASSIGN_OR_RETURN(http::Signing keys,
                      CallWithDeadline([options = options_] { return AskArrow(options); },
                                       deadline, "looking for S3 credentials"));
  keys_ = std::move(keys);
  asked_at_ = now;
  return keys_;
}

bool S3Credentials::Expire() {
  if (options_.access == S3Access::kKeys || options_.access == S3Access::kAnonymous) {
    return false;
  }
  std::lock_guard lock(mutex_);
  keys_.reset();
  return true;
}

}  // namespace forebay::source
