// Ends a wait by its deadline for libraries whose calls have none.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <type_traits>

#include "base/clock.h"
#include "base/start_thread.h"
#include "base/status.h"
#include "source/identity.h"

namespace forebay::source {

// The result of a call whose caller may stop waiting for it.
template <typename Answer>
class LateAnswer {
 public:
  void Set(Answer answer) {
    {
      std::lock_guard lock(mutex_);
      answer_ = std::move(answer);
    }
    came_.notify_all();
  }
  // Nothing: the deadline passed first.
  std::optional<Answer> Await(const Deadline& deadline) {
    std::unique_lock lock(mutex_);
    came_.wait_for(lock, deadline.stop(), deadline.Remaining(),
                   [this] { return answer_.has_value(); });
    return std::move(answer_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any came_;
  std::optional<Answer> answer_;
};

// Runs `call` (which returns a Result<T>) on a thread of its own. When the deadline
// passes first, the thread is left to end by itself: `call` must own all it touches.
// kFull where no thread can be started.
template <typename Call>
auto CallWithDeadline(Call call, Deadline deadline, std::string_view doing)
    -> std::invoke_result_t<Call> {
  using Answer = std::invoke_result_t<Call>;
  auto late = std::make_shared<LateAnswer<Answer>>();
  FB_ASSIGN_OR_RETURN(
      std::thread thread,
      StartThread([late, call = std::move(call)]() mutable { late->Set(call()); }));
  thread.detach();
  std::optional<Answer> answer = late->Await(deadline);
  if (!answer) return DeadlineStatus(doing);
  return *std::move(answer);
}

}  // namespace forebay::source
