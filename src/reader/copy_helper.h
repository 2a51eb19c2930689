// A second pair of hands for large copies: one core alone cannot load random rows of some
// kilobytes as fast as memory gives them.
//
// Its one thread starts with the first copy that is shared and sleeps in between. A
// forked child gets a thread of its own. Thread-safe.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <functional>

namespace forebay::reader {

class CopyHelper {
 public:
  CopyHelper() = default;
  ~CopyHelper();
  CopyHelper(const CopyHelper&) = delete;
  CopyHelper& operator=(const CopyHelper&) = delete;

  // copy(0) … copy(count - 1), each once, by the caller and by the helper as it finds
  // time.
  void Share(size_t count, const std::function<void(size_t)>& copy);

 private:
  struct Hands;
  Hands& OfThisProcess();

  std::atomic<Hands*> hands_{nullptr};
};

}  // namespace forebay::reader
