#include "native/blocking.h"

namespace nb = nanobind;

namespace forebay::python {
namespace {

constexpr milliseconds kLookEvery = milliseconds(100);

// The innermost call of this thread. Null in threads that are not ours (an Arrow stream
// is read from anywhere): those take no GIL.
thread_local BlockingScope* current = nullptr;

}  // namespace

BlockingScope::BlockingScope(const void* what)
    : what_(what), outer_(current), looked_(std::chrono::steady_clock::now()) {
  for (BlockingScope* scope = current; scope != nullptr; scope = scope->outer_) {
    if (scope->what_ == what) {
      throw StatusError(Status::Invalid(
          "this dataset is busy: it cannot be used from a progress function or signal "
          "handler that runs inside one of its own calls"));
    }
  }
  current = this;
  released_.emplace();
}

BlockingScope::~BlockingScope() {
  if (current == this) current = outer_;
}

void BlockingScope::End() {
  current = outer_;
  released_.reset();
  if (raised_) throw nb::python_error();
}

bool Interrupted() {
  if (current == nullptr) return false;
  if (current->raised_) return true;
  TimePoint now = std::chrono::steady_clock::now();
  if (now - current->looked_ < kLookEvery) return false;
  current->looked_ = now;
  BlockingScope* scope = current;
  nb::gil_scoped_acquire gil;
  scope->raised_ = PyErr_CheckSignals() != 0;
  return scope->raised_;
}

void WithGil(const std::function<void()>& function) {
  if (current == nullptr || current->raised_) return;
  BlockingScope* scope = current;
  nb::gil_scoped_acquire gil;
  try {
    function();
  } catch (nb::python_error& error) {
    error.restore();
    scope->raised_ = true;
  }
}

}  // namespace forebay::python
