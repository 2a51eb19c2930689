// A node: the process that owns a host's store, fills it and hands it to readers over a
// Unix socket. docs/formats/reader-protocol.md tells what they say to each other.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cache/engine.h"
#include "cluster/work.h"
#include "model/store_spec.h"
#include "node/second_copies.h"
#include "node/session.h"
#include "wire/listener.h"

namespace forebay::node {

class Node : public Host {
 public:
  struct Options {
    std::string socket_path;
    std::optional<gid_t> socket_group{};  // whose members are served besides its own user
    std::vector<model::TierSpec> store;
    uint64_t borrowed_memory_bytes = storage::kBorrowedBytes;
    cache::Engine::Options engine;
    milliseconds idle_timeout{0};  // leaves after this long without use; 0: never
    std::string log_path{};        // where its log goes; empty: to stderr
  };

  // Listening, store open. When a node already serves this socket: kUnavailable.
  static Result<std::unique_ptr<Node>> Start(Options options);
  ~Node() override;

  // Serves until it was idle for long enough or Stop was called. A reader who cannot be
  // served for want of descriptors or threads is told so; the others go on.
  Status Run();
  // Safe in a signal handler.
  void Stop() { stopping_ = true; }
  // After Run: hangs up on readers, who look for the next node, then ends plans and
  // fills.
  void Close();

  cache::Engine& engine() override { return *engine_; }
  wire::Welcome Greeting() const override;
  std::string StatusJson() override;
  // What readers read, and how far they are.
  std::vector<cluster::JobReport> Jobs();
  size_t reader_count();
  // For a member of a cluster to tell eviction what others hold.
  const std::shared_ptr<SecondCopies>& second_copies() const { return second_copies_; }
  const std::string& socket_path() const { return options_.socket_path; }
  const std::vector<model::TierSpec>& store() const { return options_.store; }

 private:
  struct Connection {
    std::unique_ptr<Session> session;
    std::thread thread;
    std::atomic<bool> ended{false};
  };

  explicit Node(Options options);
  Status ListenOrYield();
  Status AcceptNext();
  void Admit(wire::Channel channel);
  void Complain(const Status& status);
  void Reap();
  bool IsIdle();
  void OnEvicted(const Hash128& key);

  Options options_;
  TimePoint started_;
  UniqueFd lock_;
  wire::Listener listener_;
  std::shared_ptr<SecondCopies> second_copies_ = std::make_shared<SecondCopies>();
  std::unique_ptr<cache::Engine> engine_;
  std::atomic<bool> stopping_{false};
  uint64_t next_session_ = 1;
  TimePoint last_used_;
  TimePoint complain_at_;  // about readers who could not be served
  std::mutex sessions_mutex_;
  std::list<std::unique_ptr<Connection>> connections_;
};

}  // namespace forebay::node
