#include "kubeflow/loading.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.h"
#include "base/size.h"
#include "base/start_thread.h"
#include "base/uri.h"
#include "cluster/work.h"

namespace forebay::kubeflow {
namespace {

constexpr milliseconds kPinTimeout{600'000};
constexpr milliseconds kTick{20};
constexpr milliseconds kWatchTick{200};
// A report may have been made just before the last chunk came.
constexpr milliseconds kReconcileTimeout{5'000};
constexpr size_t kFailuresShown = 20;

std::string Summary(const head::Operation& operation) {
  std::string text =
      fmt::format("{} of {} rows were loaded, {} parts failed", operation.rows_done,
                  operation.rows, operation.failure_count);
  size_t shown = 0;
  for (const cluster::FailedFile& failure : operation.failures) {
    if (shown++ == kFailuresShown) break;
    text += fmt::format("\n  {}: {}", RedactUri(failure.file), failure.error);
  }
  return text;
}

}  // namespace

Result<std::unique_ptr<Loading>> Loading::Start(Options options) {
  std::unique_ptr<Loading> loading(new Loading(std::move(options)));
  FB_ASSIGN_OR_RETURN(loading->thread_,
                      StartThread([raw = loading.get()] { raw->Run(); }));
  return loading;
}

Loading::~Loading() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<const model::Manifest> Loading::manifest() const {
  std::lock_guard lock(mutex_);
  return loaded_;
}

bool Loading::Pause(milliseconds pause) {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, pause, [this] { return stopping_; });
}

void Loading::Run() {
  while (Pause(milliseconds(0))) {
    Status loaded = Load();
    if (loaded.ok()) {
      StayReady();
    } else if (loaded.code() != StatusCode::kCancelled) {
      spdlog::error("not ready, trying again in {} s: {}",
                    options_.retry_pause.count() / 1000, loaded.message());
      Pause(options_.retry_pause);
    }
  }
}

Status Loading::Load() {
  FB_RETURN_NOT_OK(Pin());
  do {
    FB_RETURN_NOT_OK(WaitForWorkers());
    loaded_by_ = WorkersUp();
    FB_RETURN_NOT_OK(WarmUp());
  } while (WorkersUp() != loaded_by_);  // who came or went meanwhile has nothing yet
  {
    std::lock_guard lock(mutex_);
    loaded_ = pinned_;
  }
  ready_ = true;
  spdlog::info("ready: {} rows of {} are with {} workers", pinned_->row_count(),
               RedactUri(options_.source), loaded_by_.size());
  return Status::OK();
}

// Anew after a failure: the files may be others by then. What has been loaded stays what
// it is, whatever happens to the table.
Status Loading::Pin() {
  if (manifest() != nullptr) return Status::OK();
  head::Reign& reign = *options_.head->reign();
  Deadline deadline = Deadline::After(kPinTimeout);
  bool again = !dataset_.name.empty();
  auto made = again
                  ? reign.datasets->Refresh(options_.dataset, deadline)
                  : reign.datasets->Create(
                        {.name = options_.dataset, .source = options_.source}, deadline);
  FB_RETURN_NOT_OK(made.status());
  dataset_ = *std::move(made);
  FB_ASSIGN_OR_RETURN(auto pinned, options_.head->versions().Recall(dataset_, deadline));
  pinned_ = pinned.table();
  spdlog::info("{} has {} rows in {} files", RedactUri(options_.source),
               pinned_->row_count(), pinned_->objects().size());
  return Status::OK();
}

std::vector<std::string> Loading::WorkersUp() const {
  std::vector<std::string> up;
  auto roster = options_.head->reign()->members->roster();
  for (const cluster::Member& member : roster->members()) {
    if (member.state != cluster::MemberState::kUp) continue;
    up.push_back(fmt::format("{} {}", member.id, member.fence));
  }
  return up;
}

// Waits on after the timeout: a restart of the head would restart the workers that are
// on their way, too.
Status Loading::WaitForWorkers() {
  Deadline deadline = Deadline::After(options_.connect_timeout);
  bool warned = false;
  while (WorkersUp().size() < options_.workers) {
    if (deadline.passed() && !warned) {
      warned = true;
      spdlog::warn("{} of {} workers have joined after {} s; waiting on",
                   WorkersUp().size(), options_.workers,
                   options_.connect_timeout.count() / 1000);
    }
    if (!Pause(kTick)) return Status::Cancelled("the head ends");
  }
  return Status::OK();
}

Status Loading::WarmUp() {
  head::Reign& reign = *options_.head->reign();
  FB_ASSIGN_OR_RETURN(head::Operation operation,
                      reign.warmups->Start(dataset_, model::AnyManifest(pinned_),
                                           *reign.members->roster()));
  while (operation.state == head::OperationState::kRunning) {
    if (!Pause(kTick)) return Status::Cancelled("the head ends");
    FB_ASSIGN_OR_RETURN(operation, reign.warmups->Get(operation.order.operation));
  }
  bool whole = operation.state == head::OperationState::kDone &&
               operation.rows_done == pinned_->row_count();
  if (!whole) return Status::Unavailable(Summary(operation));
  return Reconcile(operation);
}

uint64_t Loading::BytesHeld() const {
  uint64_t bytes = 0;
  for (const auto& node : options_.head->reign()->members->nodes()) {
    auto report = cluster::ParseNodeReport(node.report);
    if (!report.ok() || node.member.state != cluster::MemberState::kUp) continue;
    for (const cluster::TierReport& tier : report->tiers) bytes += tier.used_bytes;
  }
  return bytes;
}

Status Loading::Reconcile(const head::Operation& operation) {
  Deadline deadline = Deadline::After(kReconcileTimeout);
  while (BytesHeld() < operation.bytes_done) {
    if (deadline.passed()) {
      return Status::Unavailable(fmt::format(
          "the workers hold {} of the {} that were loaded: give them more memory, or "
          "take more of them",
          FormatSize(BytesHeld()), FormatSize(operation.bytes_done)));
    }
    if (!Pause(kTick)) return Status::Cancelled("the head ends");
  }
  return Status::OK();
}

void Loading::StayReady() {
  while (Pause(kWatchTick)) {
    if (WorkersUp() == loaded_by_) continue;
    ready_ = false;
    spdlog::warn("not ready: workers came or went");
    return;
  }
}

}  // namespace forebay::kubeflow
