#include "source/source.h"

#include <cstring>
#include <string_view>

#include "base/uri.h"
#include "model/source_options.h"
#include "source/arrow_source.h"
#include "source/file_source.h"
#include "source/hdfs_source.h"
#include "source/http_source.h"
#include "source/s3_source.h"

namespace forebay::source {
namespace {

using Open = Result<std::shared_ptr<Source>> (*)(const Uri& uri, const Options& options);

struct Scheme {
  std::string_view name;
  Open open;
};

constexpr Scheme kSchemes[] = {
    {"file", FileSource::Make},        {"http", HttpSource::Make},
    {"https", HttpSource::Make},       {"s3", S3Source::Make},  // s3a and s3n, too
    {"oss", S3Source::Make},           {"hdfs", HdfsSource::Make},
    {"gs", ArrowSource::MakeGcs},      {"abfs", ArrowSource::MakeAzure},
    {"abfss", ArrowSource::MakeAzure},
};

std::string SchemeNames() {
  std::string names;
  for (const Scheme& scheme : kSchemes) {
    if (!names.empty()) names += ", ";
    names += std::string(scheme.name) + "://";
  }
  return names;
}

}  // namespace

Sink CopyInto(std::span<std::byte> into) {
  return [into](int64_t at, std::span<const std::byte> piece) {
    std::memcpy(into.data() + at, piece.data(), piece.size());
    return Status::OK();
  };
}

Result<std::shared_ptr<Source>> OpenSource(const std::string& uri,
                                           const Options& options) {
  FB_ASSIGN_OR_RETURN(Uri parsed, Uri::Parse(uri));
  // Whatever the scheme: a typo must not change where data comes from.
  FB_RETURN_NOT_OK(model::CheckOptions(options));
  for (const Scheme& scheme : kSchemes) {
    if (scheme.name == parsed.scheme) return scheme.open(parsed, options);
  }
  return Status::Unsupported("no source reads " + parsed.scheme +
                             ":// URIs: use a path, or one of " + SchemeNames());
}

}  // namespace forebay::source
