#include "base/start_thread.h"

#include <future>
#include <vector>

namespace forebay {

Status NoThreadStatus(int error) {
  return Status::Full("no thread could be started (" +
                      std::generic_category().message(error) +
                      "): raise the limit of threads (ulimit -u, or the pids limit of "
                      "the container)");
}

Status CheckThreadRoom(size_t count) {
  std::promise<void> end;
  std::shared_future<void> ended = end.get_future().share();
  Status status;
  std::vector<std::thread> threads;
  while (status.ok() && threads.size() < count) {
    auto thread = StartThread([ended] { ended.wait(); });
    status = thread.status();
    if (thread.ok()) threads.push_back(*std::move(thread));
  }
  end.set_value();
  for (std::thread& thread : threads) thread.join();
  return status;
}

}  // namespace forebay
