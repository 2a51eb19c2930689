// What a URI with options names, pinned: files of a folder, or a state of an Iceberg
// table.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/hash.h"
#include "base/status.h"
#include "model/manifest.h"
#include "source/source.h"
#include "table/plan_table.h"

namespace forebay::table {

struct DatasetRequest {
  std::string uri;
  source::Options options;
  // The source for a URI; asked again and again, so the caller keeps what it opened. It
  // refuses URIs that nobody may read.
  std::function<Result<std::shared_ptr<source::Source>>(const std::string& uri,
                                                        const source::Options& options)>
      open_source;
  Deadline deadline = Deadline::Never();
};

// Facts about files that do not change and are costly to get, kept between plans.
struct LayoutShelf {
  std::function<std::optional<std::string>(const Hash128& key)> find;
  std::function<void(const Hash128& key, const std::string& bytes)> keep;
};

class Dataset {
 public:
  virtual ~Dataset() = default;
  // Of everything the manifest depends on.
  virtual const Hash128& version() const = 0;
  // Where the files of the manifest are read from.
  virtual std::shared_ptr<source::Source> source() const = 0;
  // The manifest's bytes.
  virtual Result<std::string> Plan(const PlanOptions& options,
                                   const LayoutShelf& shelf) const = 0;
};

Result<std::unique_ptr<Dataset>> PinDataset(const DatasetRequest& request);

// The source of a version that was pinned earlier, by its manifest.
Result<std::shared_ptr<source::Source>> SourceOf(const DatasetRequest& request,
                                                 const model::Manifest& manifest);

}  // namespace forebay::table
