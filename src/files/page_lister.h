// Lists a large folder of a source that lists in pages, many pages at once. Where a
// folder does not fit a page, its folders are listed beside each other, many small ones
// together. What was listed stays when a Run fails: the next one goes on from there.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "source/source.h"

namespace forebay::files {

class PageLister {
 public:
  struct Options {
    source::Source* source = nullptr;
    std::string folder;  // a URI that ends with '/'
    size_t thread_count = 16;
    // Hears of every object once, from one thread at a time.
    std::function<void(const model::Object&)> on_object;
  };
  explicit PageLister(Options options);

  Status Run(Deadline deadline);

 private:
  enum class Mode {
    kProbe,  // everything below, unless that is more than a page
    kLevel,  // one level: objects, and folders to go on with
    kRange,  // everything below folders from start_after to end
  };
  struct Task {
    Mode mode = Mode::kProbe;
    source::PageRequest request;
    std::string end{};  // of a range: a URI; empty: no end
  };

  void Work(Deadline deadline);
  void TakePage(Task task, source::Page page);
  void AddTasks(const Task& level, const source::Page& page);
  bool InRange(const Task& task, const std::string& uri) const;

  Options options_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> tasks_;
  size_t running_ = 0;
  Status status_;
};

}  // namespace forebay::files
