// The other nodes of a cluster as a fill sees them: a seam, since they live above.
#pragma once

#include <vector>

#include "cache/fill.h"

namespace forebay::cache {

// Thread-safe.
class Peers {
 public:
  virtual ~Peers() = default;
  // Publishes what peers have of a unit, or fill for us, and tells context.on_chunk of
  // it. Returns the chunks that did not come, sorted by range: they are the source's. An
  // error ends the fill, since the source would say the same: no permission, a changed
  // object.
  virtual Result<std::vector<FillChunk>> Bring(const FillRequest& request,
                                               const FillContext& context) = 0;
};

}  // namespace forebay::cache
