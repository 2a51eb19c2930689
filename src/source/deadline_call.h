// Ends a wait by its deadline for libraries whose calls have none.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <string_view>
#include <thread>
#include <type_traits>

#include "base/clock.h"
#include "base/start_thread.h"
#include "base/status.h"
#include "source/identity.h"

namespace forebay::source {

// Runs `call` (which returns a Result<T>) on a thread of its own. When the deadline
// passes first, the thread is left to end by itself: `call` must own all it touches.
// kFull where no thread can be started.
template <typename Call>
auto CallWithDeadline(Call call, Deadline deadline, std::string_view doing)
    -> std::invoke_result_t<Call> {
  using Answer = std::invoke_result_t<Call>;
  auto promise = std::make_shared<std::promise<Answer>>();
  std::future<Answer> answer = promise->get_future();
  FB_ASSIGN_OR_RETURN(std::thread thread,
                      StartThread([promise, call = std::move(call)]() mutable {
                        promise->set_value(call());
                      }));
  thread.detach();
  if (answer.wait_for(deadline.Remaining()) != std::future_status::ready) {
    return DeadlineStatus(doing);
  }
  return answer.get();
}

}  // namespace forebay::source
