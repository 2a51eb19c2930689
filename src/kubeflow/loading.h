// Brings the table into the workers' memory, and knows when all of it is there. When
// workers come and go later, it sees to it that the rest of them hold it all again.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "head/head.h"

namespace forebay::kubeflow {

class Loading {
 public:
  struct Options {
    head::Head* head = nullptr;  // must outlive this
    std::string dataset{};
    std::string source{};
    uint64_t workers = 1;
    milliseconds connect_timeout{20'000};
    milliseconds retry_pause{10'000};  // after a load that failed
  };
  // Begins at once, on its own thread; kFull when that cannot be started.
  static Result<std::unique_ptr<Loading>> Start(Options options);
  ~Loading();

  // True while every row is in the memory of a worker that is up.
  bool ready() const { return ready_; }
  // The table as it was loaded; null before the first load has ended well.
  std::shared_ptr<const model::Manifest> manifest() const;

 private:
  explicit Loading(Options options) : options_(std::move(options)) {}
  void Run();
  Status Load();
  Status Pin();
  Status WaitForWorkers();
  Status WarmUp();
  // Waits until the workers' stores hold what was loaded.
  Status Reconcile(const head::Operation& operation);
  void StayReady();
  // False once this is to end.
  bool Pause(milliseconds pause);
  // Who is up, each with the fence of its process.
  std::vector<std::string> WorkersUp() const;
  uint64_t BytesHeld() const;

  const Options options_;
  head::Dataset dataset_;
  std::shared_ptr<const model::Manifest> pinned_;
  std::vector<std::string> loaded_by_;
  std::atomic<bool> ready_{false};
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::shared_ptr<const model::Manifest> loaded_;
  std::thread thread_;
};

}  // namespace forebay::kubeflow
