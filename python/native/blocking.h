// Calls that may wait run here: without the GIL, and so that Ctrl-C ends them.
//
// No Python thread may hold the GIL while it waits for a dataset's lock, because whoever
// has that lock takes the GIL now and then to look for signals. So every call into a
// RemoteTable goes through Blocking().
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <optional>

#include "base/clock.h"
#include "native/errors.h"

namespace forebay::python {

// For NodeOptions::interrupted: true once this thread's Blocking() call has a Python
// exception to raise, for which signals are looked at ten times a second.
bool Interrupted();

// Calls `function` with the GIL held from inside a Blocking() call. The exception it
// raises is raised when that call ends, which is soon; after it nothing more is called.
void WithGil(const std::function<void()>& function);

class BlockingScope {
 public:
  // `what` is the dataset: a progress function or a signal handler must not call into the
  // one it runs under.
  explicit BlockingScope(const void* what);
  ~BlockingScope();
  BlockingScope(const BlockingScope&) = delete;
  BlockingScope& operator=(const BlockingScope&) = delete;

  // Takes the GIL back and raises what was raised meanwhile.
  void End();

 private:
  friend bool Interrupted();
  friend void WithGil(const std::function<void()>&);

  const void* what_;
  BlockingScope* outer_;
  bool raised_ = false;
  TimePoint looked_;
  std::optional<nanobind::gil_scoped_release> released_;
};

template <typename Call>
auto Blocking(const void* what, Call&& call) {
  BlockingScope scope(what);
  auto result = call();
  scope.End();
  return Unwrap(std::move(result));
}

}  // namespace forebay::python
