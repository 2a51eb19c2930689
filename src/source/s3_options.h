// Where an S3 source is and how it is spoken to, from options and environment.
#pragma once

#include <string>

#include "base/status.h"
#include "source/source.h"

namespace forebay::source {

enum class S3Access { kAnonymous, kKeys, kRole, kChain };

struct S3Options {
  std::string endpoint;      // "http://127.0.0.1:9000"; empty: AWS
  std::string region;        // empty: unknown, us-east-1 is tried first
  bool virtual_host = true;  // bucket.host/key rather than host/bucket/key

  S3Access access = S3Access::kChain;
  std::string access_key;
  std::string secret_key;
  std::string session_token;
  std::string role_arn;
  std::string role_session_name;

  // PyIceberg's names (s3.*, client.*), then the AWS environment variables.
  static Result<S3Options> Parse(const std::string& scheme, const Options& options);
};

}  // namespace forebay::source
