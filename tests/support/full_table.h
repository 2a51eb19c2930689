// While one lives, this process can open no descriptor more than it has now.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>

#include "base/status.h"
#include "base/unique_fd.h"

namespace forebay::testing_support {

class FullTable {
 public:
  FullTable() {
    FB_CHECK(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    UniqueFd lowest(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    rlimit tight{.rlim_cur = static_cast<rlim_t>(lowest.get()),
                 .rlim_max = before_.rlim_max};
    FB_CHECK(::setrlimit(RLIMIT_NOFILE, &tight) == 0);
  }
  ~FullTable() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FullTable(const FullTable&) = delete;
  FullTable& operator=(const FullTable&) = delete;

 private:
  rlimit before_{};
};

}  // namespace forebay::testing_support
