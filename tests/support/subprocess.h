// Starts real servers for tests and ends them with the test.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "support/temp_folder.h"

namespace forebay::testing_support {

class Subprocess {
 public:
  struct Options {
    std::vector<std::string> argv;             // argv[0] is looked up in PATH
    std::map<std::string, std::string> env{};  // added to this process' own
    std::string output_file{};                 // stdout and stderr; empty: /dev/null
    std::string folder{};                      // where it runs; empty: here
  };
  // The child dies with the thread that started it, even if that is killed.
  static Result<Subprocess> Start(const Options& options);

  Subprocess() = default;
  ~Subprocess() { Kill(); }
  Subprocess(Subprocess&& other) noexcept;
  Subprocess& operator=(Subprocess&& other) noexcept;

  pid_t pid() const { return pid_; }
  bool running();
  // SIGKILL, and waits for the end. Does nothing when it has ended already.
  void Kill();
  // Waits for it to end by itself; the exit code, or 128 + the signal.
  int Wait();

 private:
  pid_t pid_ = -1;
};

// Runs a command to its end; an error unless it exits with 0.
Status RunCommand(const Subprocess::Options& options);

// A loopback TCP port that nobody has, and that no other test of this machine is given
// while this process lives (as tests/support/ports.py does). It lies below the ports that
// the system gives to outgoing connections.
int FreePort();
// True once something accepts connections on 127.0.0.1:port.
bool WaitForPort(int port, std::chrono::milliseconds timeout);

}  // namespace forebay::testing_support
