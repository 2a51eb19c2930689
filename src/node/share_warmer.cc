#include "node/share_warmer.h"

#include <malloc.h>

#include <algorithm>

#include "base/log.h"
#include "base/start_thread.h"
#include "node/share.h"

namespace forebay::node {
namespace {

// Before a share is tried again, or the roster looked at.
constexpr milliseconds kPause{500};
constexpr cache::ClientId kWarmupClient = (cache::ClientId{1} << 62) + 1;

cluster::FailedFile Failed(const std::string& message) {
  size_t colon = message.find(": ");
  if (colon == message.npos) return {.file = {}, .error = message};
  return {.file = message.substr(0, colon), .error = message.substr(colon + 2)};
}

}  // namespace

ShareWarmer::ShareWarmer(cache::Engine* engine, HeadDatasets* datasets,
                         HeldVersions* held)
    : engine_(engine), datasets_(datasets), held_(held) {}

Result<std::unique_ptr<ShareWarmer>> ShareWarmer::Start(cache::Engine* engine,
                                                        HeadDatasets* datasets,
                                                        HeldVersions* held) {
  std::unique_ptr<ShareWarmer> started(new ShareWarmer(engine, datasets, held));
  FB_ASSIGN_OR_RETURN(started->thread_,
                      StartThread([raw = started.get()] { raw->Run(); }));
  return started;
}

ShareWarmer::~ShareWarmer() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    tasks_.clear();
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ShareWarmer::Take(const std::vector<cluster::WarmupOrder>& orders) {
  std::lock_guard lock(mutex_);
  std::erase_if(tasks_, [&](const auto& task) {
    return std::ranges::find(orders, task.first, &cluster::WarmupOrder::operation) ==
           orders.end();
  });
  for (const cluster::WarmupOrder& order : orders) {
    auto [task, added] = tasks_.try_emplace(order.operation);
    if (!added) continue;
    task->second.order = order;
    task->second.report.operation = order.operation;
  }
  wake_.notify_all();
}

std::vector<cluster::WarmupReport> ShareWarmer::Reports() {
  std::lock_guard lock(mutex_);
  std::vector<cluster::WarmupReport> reports;
  for (const auto& [operation, task] : tasks_) reports.push_back(task.report);
  return reports;
}

ShareWarmer::Task* ShareWarmer::NextTask() {
  uint64_t epoch = datasets_->home()->link().roster()->epoch();
  for (auto& [operation, task] : tasks_) {
    if (!task.report.done || task.report.roster_epoch < epoch) return &task;
  }
  return nullptr;
}

void ShareWarmer::Run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    Task* task = NextTask();
    if (task == nullptr) {
      wake_.wait_for(lock, kPause);
      continue;
    }
    cluster::WarmupOrder order = task->order;
    lock.unlock();
    Warm(order);
    lock.lock();
    if (!stopping_) wake_.wait_for(lock, milliseconds(1));
  }
}

bool ShareWarmer::Note(const cluster::WarmupReport& report) {
  std::lock_guard lock(mutex_);
  auto found = tasks_.find(report.operation);
  if (found == tasks_.end()) return false;
  found->second.report = report;
  return true;
}

void ShareWarmer::Warm(const cluster::WarmupOrder& order) {
  auto share = OpenShare(order, engine_, datasets_);
  if (!share.ok()) {
    // The head, or the source, may be back in a moment; what stays wrong the head ends.
    spdlog::warn("cannot warm {} up yet: {}", order.dataset, share.status().message());
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, kPause, [this] { return stopping_; });
    return;
  }
  cluster::WarmupReport report = ChooseShare(order, *datasets_->home(), &*share);
  if (!Note(report)) return;
  auto hear = [&](const cache::WarmupProgress& progress) {
    ++report.units_done;
    report.rows_done = progress.rows_done;
    report.bytes_done = progress.bytes_stored;
    return Note(report);
  };
  auto done = LoadShare(*share, engine_, {.client = kWarmupClient, .report = hear});
  if (!done.ok()) {
    engine_->fills().Forget(kWarmupClient);
    engine_->files().Forget(kWarmupClient);
    return;
  }
  report.failure_count = done->failures.size();
  report.units_done = report.units - done->units_failed;
  for (const std::string& failure : done->failures) {
    if (report.failures.size() == cluster::WarmupReport::kFailuresMax) break;
    report.failures.push_back(Failed(failure));
  }
  // What decoding needed is free again, but kept by allocators: chunks may need it more.
  engine_->ReleaseMemory();
  ::malloc_trim(0);
  held_->Recount(order.dataset, order.version);
  report.done = true;
  if (Note(report)) datasets_->home()->link().BeatSoon();
}

}  // namespace forebay::node
