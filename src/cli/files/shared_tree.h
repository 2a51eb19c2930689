// A tree whose files are kept in a shared directory: as its source lists it, or, where
// the source cannot be reached, as hosts saw it last.
#pragma once

#include <memory>
#include <optional>

#include "base/hash.h"
#include "cli/files/files_arguments.h"
#include "model/files_manifest.h"
#include "storage/shared/shared_directory.h"

namespace forebay::cli {

// What hosts saw at a source last; one that does not add up is none.
struct SeenTree {
  std::shared_ptr<const model::FilesManifest> manifest;
  int64_t at_ns = 0;
};
Result<SeenTree> FindSeen(storage::SharedDirectory& shared, const Hash128& asked);

class SharedTree {
 public:
  // Says on stderr when it goes on without the source.
  static Result<SharedTree> Open(const FilesArguments& arguments,
                                 storage::SharedDirectory& shared);

  const std::shared_ptr<reader::RemoteFiles>& files() const { return files_; }
  // The status, and that the source was not reached, if it was not.
  Status Explain(const Status& status) const;
  // Hosts that do not reach the source may go on with what is there, if all of it is.
  void Keep(storage::SharedDirectory& shared) const;

 private:
  std::shared_ptr<reader::RemoteFiles> files_;
  Hash128 asked_;
  std::optional<Hash128> seen_version_;
  bool offline_ = false;
};

}  // namespace forebay::cli
