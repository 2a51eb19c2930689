// gs:// and abfs:// through Arrow's file systems. The identity is size and modification
// time, asked for before and after every read. Arrow's calls know no deadline: when time
// is up the call is left behind on a thread of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/uri.h"
#include "source/source.h"

namespace arrow::fs {
class FileSystem;
}

namespace forebay::source {

class ArrowSource : public Source {
 public:
  static Result<std::shared_ptr<Source>> MakeGcs(const Uri& uri, const Options& options);
  static Result<std::shared_ptr<Source>> MakeAzure(const Uri& uri,
                                                   const Options& options);
  // The object `prefix` + "/x" is Arrow's path `base` + "/x".
  struct Place {
    std::shared_ptr<arrow::fs::FileSystem> file_system;
    std::string prefix;  // "gs://bucket"
    std::string base;    // "bucket"
    std::string origin;
  };
  explicit ArrowSource(Place place);

  Result<std::vector<model::Object>> List(const std::string& uri,
                                          Deadline deadline) override;
  Result<model::Object> Stat(const std::string& uri, Deadline deadline) override;
  Status Read(const model::Object& object, int64_t offset, std::span<std::byte> into,
              Deadline deadline) override;
  std::string origin() const override { return place_.origin; }

 private:
  Result<std::string> PathOf(const std::string& uri) const;
  std::string UriOf(const std::string& path) const;

  const Place place_;
};

}  // namespace forebay::source
