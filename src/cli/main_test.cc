#include "cli/main.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/verbs.h"

namespace forebay::cli {
namespace {

int RunMain(std::vector<std::string> words) {
  words.insert(words.begin(), "forebay");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return Main(static_cast<int>(words.size()), argv.data());
}

// A program in place of `variable`'s that writes its arguments to stderr and ends
// with 42.
class FakeProgram {
 public:
  explicit FakeProgram(const char* variable) : variable_(variable) {
    path_ = (std::filesystem::temp_directory_path() /
             ("forebay-fake-" + std::to_string(::getpid())))
                .string();
    std::ofstream(path_) << "#!/bin/sh\necho \"got $*\" >&2\nexit 42\n";
    ::chmod(path_.c_str(), 0700);
    ::setenv(variable, path_.c_str(), 1);
  }
  ~FakeProgram() {
    ::unsetenv(variable_);
    std::filesystem::remove(path_);
  }

 private:
  const char* variable_;
  std::string path_;
};

TEST(Main, HeadWithHostAndPortIsTheOneOfKubeflow) {
  FakeProgram program("FOREBAY_KUBEFLOW_BINARY");
  EXPECT_EXIT(std::exit(RunMain({"head", "0.0.0.0", "50051"})),
              testing::ExitedWithCode(42), "got head 0\\.0\\.0\\.0 50051\n");
}

TEST(Main, WorkerWithHostAndPortIsTheOneOfKubeflow) {
  FakeProgram program("FOREBAY_KUBEFLOW_BINARY");
  EXPECT_EXIT(std::exit(RunMain({"worker", "0.0.0.0", "50052"})),
              testing::ExitedWithCode(42), "got worker 0\\.0\\.0\\.0 50052\n");
}

TEST(Main, HeadWithOptionsIsForebays) {
  FakeProgram program("FOREBAY_HEAD_BINARY");
  EXPECT_EXIT(std::exit(RunMain({"head", "--listen", "127.0.0.1:0"})),
              testing::ExitedWithCode(42), "got --listen 127\\.0\\.0\\.1:0\n");
}

TEST(Main, WorkerWithoutAPortIsRefused) {
  EXPECT_EXIT(std::exit(RunMain({"worker", "0.0.0.0"})), testing::ExitedWithCode(2),
              "forebay: PORT is required; see forebay worker --help\n");
}

TEST(Main, RefusesAnUnknownVerbWithAllThatThereAre) {
  EXPECT_EXIT(std::exit(RunMain({"wroker"})), testing::ExitedWithCode(2),
              "forebay: there is no verb 'wroker'.*worker");
}

TEST(Main, RefusesALogLevelThatIsNone) {
  ::setenv("FOREBAY_LOG", "verbose", 1);
  EXPECT_EXIT(std::exit(RunMain({"version"})), testing::ExitedWithCode(2),
              "forebay: FOREBAY_LOG is 'verbose': the levels are debug, info, warning, "
              "error, off\n");
  ::unsetenv("FOREBAY_LOG");
}

}  // namespace
}  // namespace forebay::cli
