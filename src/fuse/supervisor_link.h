// What supervisor and serving process say to each other over a socket of their own. Both
// are the same program, so the messages are plain structs (docs/formats/mount-link.md).
//
//   supervisor → serving   kVersion… (what is known), then kOpen or kServe
//   serving → supervisor   kVersion… kOpened, or kFailed        (after kOpen)
//                          kReady                               (after kServe)
//                          kVersion, kOpenBacking → answered; kCloseBacking, kSettled
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "wire/channel.h"

namespace forebay::fuse {

enum class Say : uint32_t {
  kVersion,       // source, generation, size of the manifest; descriptors: it, its births
  kOpen,          // open the sources: there is no mount yet
  kOpened,        // value: the profile
  kFailed,        // value: a StatusCode; the text says why
  kServe,         // value: the profile; flags; descriptors: channels
  kReady,         // requests are answered from now on
  kOpenBacking,   // node, handle; descriptor: the file to read instead, or none
  kCloseBacking,  // node, handle
  kSettled,       // the kernel was told everything about the newest versions
  kDone,          // the answer: value is a backing id, 0 for none
};

constexpr uint32_t kFlagPassthrough = 1;
constexpr uint32_t kFlagUnsettled = 2;  // a refresh was cut off: tell the kernel again

constexpr uint32_t kFlagFull =
    4;  // of an answer: what was sent with the question is lost

// A newer program may be started by an older supervisor: it must know these words.
constexpr uint32_t kLinkVersion = 1;

struct Message {
  uint32_t version = kLinkVersion;
  Say say = Say::kDone;
  uint32_t source = 0;
  uint32_t generation = 0;
  uint32_t flags = 0;
  int32_t value = 0;
  uint64_t node = 0;
  uint64_t handle = 0;
  uint64_t size = 0;
  int64_t time_ns = 0;  // when it was mounted
};

static_assert(sizeof(Message) == 56);

struct Letter {
  Message message;
  std::string text;
  std::vector<UniqueFd> fds;
};

class SupervisorLink {
 public:
  // One who takes no messages for so long does not work.
  static constexpr milliseconds kTimeout = std::chrono::seconds(30);

  explicit SupervisorLink(UniqueFd socket, milliseconds timeout = kTimeout)
      : timeout_(timeout), channel_(std::move(socket)) {}

  Status Send(const Message& message, const std::vector<int>& fds = {},
              const std::string& text = "");
  // kUnavailable when the other side has gone.
  Result<Letter> Receive();
  // What has come already.
  Result<std::optional<Letter>> TryReceive();
  // Sends and waits for the answer; kFull when descriptors did not arrive. A link that
  // brings no answer is closed: a late one would be taken for the next one's.
  // Thread-safe; one at a time.
  Result<Message> Call(const Message& message, const std::vector<int>& fds = {});
  int fd() const { return channel_.fd(); }

 private:
  const milliseconds timeout_;
  std::mutex call_mutex_;
  wire::Channel channel_;
};

}  // namespace forebay::fuse
