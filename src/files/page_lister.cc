#include "files/page_lister.h"

#include <thread>
#include <utility>
#include <vector>

#include "base/start_thread.h"

namespace forebay::files {
namespace {

// With more folders than this on a page, asking for each would take more requests than
// asking for everything in order.
constexpr size_t kFoldersMax = 128;
// So many of them are one task then.
constexpr size_t kRangeFolders = 64;

}  // namespace

PageLister::PageLister(Options options) : options_(std::move(options)) {
  tasks_.push_back({.mode = Mode::kProbe, .request = {.folder = options_.folder}});
}

Status PageLister::Run(Deadline deadline) {
  status_ = Status::OK();
  std::vector<std::thread> threads;
  for (size_t i = 1; i < options_.thread_count; ++i) {
    auto thread = StartThread([&] { Work(deadline); });
    if (!thread.ok()) break;  // those that run do it all
    threads.push_back(*std::move(thread));
  }
  Work(deadline);
  for (std::thread& thread : threads) thread.join();
  return status_;
}

void PageLister::Work(Deadline deadline) {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return !status_.ok() || !tasks_.empty() || running_ == 0; });
    if (!status_.ok() || tasks_.empty()) break;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    ++running_;
    lock.unlock();
    auto page = options_.source->ListPage(task.request, deadline);
    lock.lock();
    --running_;
    if (page.ok()) {
      TakePage(std::move(task), *std::move(page));
    } else {
      status_ = page.status();
      tasks_.push_front(std::move(task));  // for the next Run
    }
    wake_.notify_all();
  }
  wake_.notify_all();
}

// What is right in the folder comes with its level and not with a range.
bool PageLister::InRange(const Task& task, const std::string& uri) const {
  if (task.mode != Mode::kRange) return true;
  if (!task.end.empty() && uri >= task.end) return false;
  return uri.find('/', task.request.folder.size()) != uri.npos;
}

void PageLister::TakePage(Task task, source::Page page) {
  bool more = !page.next.empty();
  if (task.mode == Mode::kProbe && more) {
    task.mode = Mode::kLevel;
    task.request.one_level = true;
    tasks_.push_back(std::move(task));
    return;
  }
  for (const model::Object& object : page.objects) {
    if (InRange(task, object.uri)) options_.on_object(object);
  }
  if (task.mode == Mode::kLevel) AddTasks(task, page);
  bool past_end = task.mode == Mode::kRange && !task.end.empty() &&
                  !page.objects.empty() && page.objects.back().uri >= task.end;
  if (!more || past_end) return;
  task.request.next = std::move(page.next);
  // First: it knows of further tasks.
  tasks_.push_front(std::move(task));
}

void PageLister::AddTasks(const Task& level, const source::Page& page) {
  if (page.folders.size() <= kFoldersMax) {
    for (const std::string& folder : page.folders) {
      tasks_.push_back({.mode = Mode::kProbe, .request = {.folder = folder}});
    }
    return;
  }
  for (size_t first = 0; first < page.folders.size(); first += kRangeFolders) {
    size_t last = std::min(first + kRangeFolders, page.folders.size()) - 1;
    // Everything that begins with the last folder's name comes before its name with the
    // next character after '/'.
    std::string end = page.folders[last];
    end.back() = '/' + 1;
    tasks_.push_back(
        {.mode = Mode::kRange,
         .request = {.folder = level.request.folder, .start_after = page.folders[first]},
         .end = std::move(end)});
  }
}

}  // namespace forebay::files
