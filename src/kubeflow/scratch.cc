#include "kubeflow/scratch.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/errno_status.h"

namespace forebay::kubeflow {

Result<Scratch> Scratch::Make() {
  const char* given = std::getenv("TMPDIR");
  std::string path = std::string(given == nullptr || *given == '\0' ? "/tmp" : given) +
                     "/forebay-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    return ErrnoStatus(errno, "make a folder like " + path);
  }
  return Scratch(std::move(path));
}

Scratch::~Scratch() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace forebay::kubeflow
