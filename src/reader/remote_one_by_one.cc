// The part of RemoteTable that is about chunks for which the node has little memory.
#include <algorithm>
#include <thread>

#include "reader/remote_table.h"

namespace forebay::reader {
namespace {

// Readers hold borrowed memory for as long as a copy or a pass over a unit takes; this is
// many of those, also where a unit is slow to decode. Pauses grow.
constexpr int kFullAttempts = 12;
constexpr milliseconds kFullPatience = std::chrono::seconds(30);
constexpr milliseconds kFullPause{20};
constexpr milliseconds kFullPauseMax{500};

}  // namespace

Result<std::vector<RemoteTable::ChunkPtr>> RemoteTable::AcquireOneByOne(
    uint32_t view, std::span<const model::ChunkRef> refs, Mapping::Mode mode,
    Times* times) {
  Deadline deadline = Deadline::After(std::min(kFullPatience, options_.timeout));
  std::vector<ChunkPtr> out;
  milliseconds pause = kFullPause;
  int refused = 0;
  while (out.size() < refs.size()) {
    ForgetUnused(view);
    Poll();  // tells the node what was let go of
    auto got = Acquire(view, refs.subspan(out.size(), 1),
                       {.mode = mode, .borrowed = Borrowed::kCopy}, times);
    if (got.ok()) {
      out.push_back(std::move(got->front()));
      continue;
    }
    bool is_full = got.status().code() == StatusCode::kFull;
    if (!is_full || (++refused >= kFullAttempts && deadline.passed())) {
      return got.status();
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kFullPauseMax);
  }
  return out;
}

}  // namespace forebay::reader
