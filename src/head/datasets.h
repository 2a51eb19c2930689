// The datasets of the cluster, in the metadata store. Thread-safe: every change says
// which state it was made from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "head/dataset.h"
#include "head/versions.h"
#include "meta/meta_store.h"

namespace forebay::head {

class Datasets {
 public:
  Datasets(meta::MetaStore* store, Versions* versions)
      : store_(store), versions_(versions) {}

  // Pins what the source holds now. kChanged: the name is taken, and the message says in
  // what the two differ. Asking twice for the same is no error.
  Result<Dataset> Create(Dataset dataset, Deadline deadline);
  Result<Dataset> Get(const std::string& name);
  Result<std::vector<Dataset>> List();
  // Pins again. Readers of the old version keep it. kChanged: somebody else changed the
  // dataset meanwhile.
  Result<Dataset> Refresh(const std::string& name, Deadline deadline);
  Status Delete(const std::string& name);

 private:
  struct Stored {
    Dataset dataset;
    uint64_t version;
  };
  Result<Stored> Read(const std::string& name);

  meta::MetaStore* store_;
  Versions* versions_;
};

}  // namespace forebay::head
