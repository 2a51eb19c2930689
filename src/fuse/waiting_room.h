// Threads that ask the node for what is not mapped. Most of them may wait for the source
// as long as it takes; the rest only try, so that what is stored can be had while a
// source hangs. What was tried in vain waits here without a thread. Of several sources
// none lets more of its tasks wait than it leaves room for others: one that hangs does
// not keep the others from being read. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "reader/files/link_pool.h"

namespace forebay::fuse {

class WaitingRoom {
 public:
  struct Options {
    size_t patient_max = reader::LinkPool::kPatientMax;  // tasks that wait at once
    // Tasks that try at once, beside those: each finds a link.
    size_t brisk_max = reader::LinkPool::kBriskMax;
    size_t source_count = 1;
  };
  explicit WaitingRoom(Options options);
  ~WaitingRoom();  // what was not begun is dropped
  WaitingRoom(const WaitingRoom&) = delete;
  WaitingRoom& operator=(const WaitingRoom&) = delete;

  enum class Patience { kWait, kTry };
  // False after kTry: it has to be run again with kWait.
  using Task = std::function<bool(Patience)>;
  // At the limit of threads there are fewer of them; without any the caller waits.
  void Submit(uint32_t source, Task task);

 private:
  struct Fresh {
    uint32_t source;
    Task task;
  };
  struct Source {
    std::deque<Task> tried;
    size_t patient_count = 0;
  };
  struct Next {
    Source* source = nullptr;
    Task task;
    Patience patience = Patience::kWait;
  };
  bool MayWait(const Source& source) const;
  // One with tasks that were tried and may wait now.
  Source* NextSource();
  bool HasNext() { return !fresh_.empty() || NextSource() != nullptr; }
  Next TakeNext();
  void Run();

  const Options options_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Fresh> fresh_;
  std::map<uint32_t, Source> sources_;
  size_t patient_count_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace forebay::fuse
