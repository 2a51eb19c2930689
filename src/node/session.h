// One connected reader: what it has open, what it was handed, how far it is. The node
// runs each session on a thread of its own; OnEvicted and Describe come from others.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "cache/engine.h"
#include "cluster/work.h"
#include "node/open_view.h"
#include "node/row_requests.h"
#include "wire/channel.h"
#include "wire/listener.h"
#include "wire/message.h"

namespace forebay::node {

// What a session needs of its node.
class Host {
 public:
  virtual ~Host() = default;
  virtual cache::Engine& engine() = 0;
  virtual wire::Welcome Greeting() const = 0;
  virtual std::string StatusJson() = 0;
};

class Session {
 public:
  Session(uint64_t id, wire::Channel channel, Host* host);
  ~Session();

  // Serves until the reader goes away or breaks the protocol, in which case it hears why.
  void Run();
  void Stop() { channel_.Shutdown(); }
  // Instead of Run: the reader cannot be served.
  void TurnAway(const Status& why) { wire::TurnAway(channel_, why); }
  // The reader asked for more than how the node is.
  bool in_use() const { return in_use_; }

  // Tells the reader to let go of a chunk, if it was handed that one.
  void OnEvicted(const Hash128& key);
  nlohmann::json Describe() const;
  void AppendJobs(std::vector<cluster::JobReport>* jobs) const;

 private:
  struct Handed {
    uint32_t view;
    model::ChunkRef ref;
  };

  Status Serve(wire::Packet packet);
  Status Dispatch(const wire::Message& message);
  Status Answer(wire::Message message, const std::vector<int>& fds = {});

  Status On(const wire::Hello& hello);
  Status On(const wire::Open& open);
  Status On(const wire::OpenFiles& open);
  Status On(const wire::View& view);
  Status On(const wire::GetChunks& get);
  Status On(const wire::Want& want);
  Status On(const wire::Release& release);
  Status On(const wire::Hold& hold);
  Status On(const wire::Progress& progress);
  Status On(const wire::Follow& follow);
  Status On(const wire::Warmup& warmup);
  Status On(const wire::GetCoverage& get);
  Status On(const wire::GetStatus& get);
  Status On(const wire::Gather& gather);
  Status On(const wire::GetGathered& get);
  Status On(const wire::DropGathered& drop);
  Status On(const wire::GetRoom& get);
  template <typename T>
  Status On(const T&) {
    return Status::Invalid("this message is not for a node");
  }

  Result<OpenView> FindView(uint32_t id) const;
  Result<cache::View> FindTable(uint32_t id) const;
  // The manifest that came with the message being served.
  Result<std::string> PinnedManifest(uint64_t bytes) const;
  // What another user brings must be what the store has.
  Status CheckPinned(const Hash128& key, std::string_view manifest) const;
  // A chunk on its way to the reader, and whether it waited for it.
  struct Handover {
    model::ChunkRef ref;
    cache::Brought brought;
  };
  Result<cache::Brought> Await(const cache::ChunkFuture& future, Deadline deadline);
  Status HandOverAll(const wire::GetChunks& get);
  Status HandOver(const wire::GetChunks& get, const std::vector<Handover>& chunks);
  Status AddReaders(const wire::GetChunks& get, const std::vector<Handover>& chunks);
  Status HandOverRows(uint64_t ticket, const cache::GatheredRows& rows);
  void FlushEvicted();
  bool SendEvicted(uint32_t view, std::span<const model::ChunkRef> refs);

  const uint64_t id_;
  wire::Channel channel_;
  Host* host_;
  wire::Packet packet_;  // the one being served
  uint64_t request_ = 0;
  bool greeted_ = false;
  std::atomic<bool> in_use_{false};
  RowRequests rows_;

  mutable std::mutex mutex_;  // of all below
  uint32_t pid_ = 0;
  std::string program_;
  std::vector<std::shared_ptr<const cache::Version>> datasets_;
  std::vector<OpenView> views_;
  std::unordered_map<Hash128, std::vector<Handed>> handed_;
  std::vector<Handed> evicted_;  // to be told
  bool deaf_ = false;            // the reader took no messages when it was last told
};

}  // namespace forebay::node
