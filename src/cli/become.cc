#include "cli/become.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/errno_status.h"

namespace forebay::cli {

Result<std::string> FindBeside(const std::string& program, const char* variable) {
  if (const char* given = std::getenv(variable)) return std::string(given);
  std::error_code error;
  auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  std::string place = (self.parent_path() / program).string();
  if (!error && ::access(place.c_str(), X_OK) == 0) return place;
  return Status::NotFound(
      fmt::format("the program {} was not found; set {} to its path", program, variable));
}

Status Become(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  return ErrnoStatus(errno, "start " + command[0]);
}

}  // namespace forebay::cli
