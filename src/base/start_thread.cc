#include "base/start_thread.h"

namespace forebay {

Status NoThreadStatus(int error) {
  return Status::Full("no thread could be started (" +
                      std::generic_category().message(error) +
                      "): raise the limit of threads (ulimit -u, or the pids limit of "
                      "the container)");
}

}  // namespace forebay
