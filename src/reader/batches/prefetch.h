// Batches made ready ahead of whoever asks for them, by threads of this process.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "reader/batches/batches.h"

namespace forebay::reader {

struct PrefetchOptions {
  BatchShare share{};
  uint32_t threads = 1;
  uint32_t ahead = 4;  // batches that are ready or in the making
};

class Prefetch {
 public:
  // Every thread makes its batches by `make`, which is called here.
  static Result<std::unique_ptr<Prefetch>> Make(const BatchMaker& make,
                                                const PrefetchOptions& options);
  // Ends the threads; what they wait for is given up.
  ~Prefetch();
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

  // The next batch in order; nullopt after the last. After an error the same batch can be
  // asked for again. `interrupted` is looked at ten times a second: true ends the wait
  // with kCancelled. One thread at a time; not in a forked child.
  Result<std::optional<Batch>> Next(const std::function<bool()>& interrupted = {});
  // Whether Next() would return at once. By whoever calls that.
  bool ready() const;
  // How long the last Next() waited.
  std::chrono::nanoseconds waited() const { return waited_; }

  const plan::Shards& shards() const { return shards_; }
  uint64_t step_count() const { return shards_.worker_step_count(); }

 private:
  class Lane;  // one thread with the stream of every n-th batch

  Prefetch(plan::Shards shards, uint64_t start);

  plan::Shards shards_;
  const uint64_t start_;
  uint64_t next_;
  std::chrono::nanoseconds waited_{0};
  pid_t pid_;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace forebay::reader
