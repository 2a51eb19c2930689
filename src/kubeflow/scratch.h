// A folder of this process alone, gone with it.
#pragma once

#include <string>

#include "base/status.h"

namespace forebay::kubeflow {

class Scratch {
 public:
  // Below TMPDIR, else /tmp.
  static Result<Scratch> Make();
  ~Scratch();
  Scratch(Scratch&& other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  Scratch& operator=(Scratch&&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit Scratch(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace forebay::kubeflow
