// How Python says what to open: a table or a tree of files.
#pragma once

#include <map>
#include <string>

#include "native/blocking.h"
#include "reader/remote_table.h"

namespace forebay::python {

struct OpenArguments {
  std::string uri;
  std::string store;
  std::string socket;
  std::map<std::string, std::string> source;
  int64_t timeout_ms = 0;

  reader::OpenOptions ToOptions() const {
    reader::OpenOptions options;
    options.node.store = store;
    options.node.socket = socket;
    options.node.interrupted = Interrupted;
    options.source = source;
    options.timeout = milliseconds(timeout_ms);
    return options;
  }
};

}  // namespace forebay::python
