#include "native/batch_flow.h"

#include <nanobind/nanobind.h>

#include "native/blocking.h"
#include "native/claim.h"

namespace forebay::python {

// What ends here, threads and look-ahead, may wait for a dataset's lock, and who has that
// may want the GIL.
BatchFlow::~BatchFlow() {
  if (PyGILState_Check() == 0) return;
  nanobind::gil_scoped_release released;
  prefetch_.reset();
  batches_.reset();
}

Result<std::unique_ptr<BatchFlow>> BatchFlow::Make(const reader::BatchMaker& make,
                                                   const reader::BatchShare& share,
                                                   const StreamOptions& options) {
  FB_ASSIGN_OR_RETURN(plan::Shards shards, plan::Shards::Make(share.shards));
  auto flow = std::unique_ptr<BatchFlow>(new BatchFlow(std::move(shards)));
  if (options.threads == 0) {
    FB_ASSIGN_OR_RETURN(flow->batches_, make(share));
    return flow;
  }
  FB_ASSIGN_OR_RETURN(
      flow->prefetch_,
      reader::Prefetch::Make(
          make, {.share = share, .threads = options.threads, .ahead = options.ahead}));
  return flow;
}

Result<std::optional<reader::Batch>> BatchFlow::Next() {
  Claim claim(busy_in_);
  FB_RETURN_NOT_OK(claim.status());
  if (prefetch_ == nullptr) return batches_->Next();
  return prefetch_->Next([this] { return cancelled_ || Interrupted(); });
}

double BatchFlow::waited() const {
  if (prefetch_ == nullptr) return 0;
  return std::chrono::duration<double>(prefetch_->waited()).count();
}

}  // namespace forebay::python
