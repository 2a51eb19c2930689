// Answers the kernel's requests: threads that read them, one per channel, and a pool for
// those that must wait for the node or the source. A request that finds its bytes mapped
// is answered by the thread that read it.
#pragma once

#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "fuse/answers.h"
#include "fuse/channel.h"
#include "fuse/filesystem.h"
#include "fuse/look_ahead.h"
#include "fuse/memory_budget.h"
#include "fuse/opened_files.h"
#include "fuse/waiting_requests.h"
#include "fuse/waiting_room.h"

namespace forebay::fuse {

class Serving {
 public:
  struct Options {
    Filesystem* filesystem = nullptr;
    OpenedFiles* opened = nullptr;
    MemoryBudget* memory = nullptr;
    std::vector<int> channels;
    Look look;
    milliseconds timeout{};  // how long a request may wait for the source
    // Called in a thread of its own once the file system is unmounted.
    std::function<void()> on_unmounted;
  };
  explicit Serving(Options options);

  // To be called now and then: lets go of who was killed while it waited.
  void Check() { asked_.Check(); }

 private:
  struct Request;

  void Run(Channel channel);
  void Dispatch(const Request& request);
  void OnLookup(const Request& request);
  void OnGetAttributes(const Request& request);
  void OnOpen(const Request& request);
  void OnRelease(const Request& request);
  void OnRead(const Request& request);
  void OnReadDirectory(const Request& request, bool plus);
  void OnReadLink(const Request& request);
  void OnStatFilesystem(const Request& request);
  void OnGetExtended(const Request& request);
  void OnListExtended(const Request& request);
  void AnswerExtended(const Request& request, std::string_view value, uint32_t room);

  // Has what will be read next fetched, if this read says what that is.
  void Ahead(const Filesystem::File& file, uint64_t node, uint64_t offset);

  Options options_;
  LookAhead look_ahead_;
  WaitingRequests asked_{IsDying};
  WaitingRoom waiting_;
  std::vector<std::thread> threads_;
};

// What a reader is told when the bytes cannot be had.
int ErrnoOf(const Status& status);

}  // namespace forebay::fuse
