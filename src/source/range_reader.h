// Many ranges of one object, read with few, parallel requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/clock.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "model/object.h"
#include "source/source.h"

namespace forebay::source {

struct Range {
  int64_t offset = 0;
  std::span<std::byte> into;
};

// Fills every range or fails; after a failure no range may be used. Ranges may come in
// any order. Large ones are split into requests of about 8 MiB; small ones that lie close
// together share a request, as long as little is read that nobody asked for. Runs on the
// pool and the calling thread, with at most source.parallelism() requests at once.
Status ReadRanges(Source& source, const model::Object& object,
                  std::span<const Range> ranges, ThreadPool& pool, Deadline deadline);

}  // namespace forebay::source
