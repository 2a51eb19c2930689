// The process that holds a mount: the kernel's descriptors, the versions, the table of
// files that the kernel reads by itself. It answers no request; a serving process does,
// and when that dies the next one goes on with everything this one holds. One thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "fuse/backing_table.h"
#include "fuse/mount.h"
#include "fuse/mount_state.h"
#include "fuse/supervisor_link.h"

namespace forebay::fuse {

class Supervisor {
 public:
  struct Options {
    MountOptions mount;
    // What starts a serving process; it finds its end of the link at kServingFd.
    std::function<std::vector<std::string>()> command;
    const MountState* state = nullptr;
    // Called once, when the mount answers.
    std::function<void()> on_ready;
  };
  static constexpr int kServingFd = 3;

  explicit Supervisor(Options options) : options_(std::move(options)) {}
  // Mounts, and returns when the mount was taken away or never came to be.
  Status Run();

 private:
  struct Version {
    Message message;
    std::vector<UniqueFd> fds;
  };

  Status Supervise();
  Status WaitForServing();
  Status WaitToStart();
  Status Start();
  Status ReadLetters();
  void OnLostLetter(const Status& why);
  // What a serving process needs to go on where another one stopped.
  Status HandOver();
  Status SendServe();
  Status MountNow(int32_t profile);
  Status OpenChannels();
  Status OnSignal();
  // Unmounts what is ours, if that is what lies at the directory.
  Status TakeAway();
  Status OnDeath();
  void StartLater(int failed_starts);
  void Restart();
  Status OnLetter(Letter letter);
  Status TellReady();
  Status OnVersion(Letter letter);
  Status OnOpenBacking(const Letter& letter);

  Options options_;
  UniqueFd signals_;
  UniqueFd fuse_;
  std::string device_;  // of the mount, as in the table of mounts
  std::vector<UniqueFd> channels_;
  Agreement agreement_;
  std::optional<BackingTable> backing_;
  std::vector<Version> versions_;
  int32_t profile_ = 0;
  int64_t mounted_ns_ = 0;
  bool unsettled_ = false;
  bool leaving_ = false;
  bool over_ = false;

  pid_t serving_ = 0;  // 0: none; the next one starts when it is time
  Deadline next_start_ = Deadline::Never();
  std::unique_ptr<SupervisorLink> link_;
  bool was_ready_ = false;  // the serving process that runs now
  bool told_ready_ = false;
  int failed_starts_ = 0;
};

}  // namespace forebay::fuse
