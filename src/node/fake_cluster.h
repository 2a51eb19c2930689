// A cluster of members that are Flight services in this process, for tests: a head that
// always says the same, and peers that serve made-up chunks.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cluster/messages.h"
#include "flight/fake_chunks.h"
#include "flight/service.h"
#include "node/cluster.h"
#include "storage/chunk_name.h"

namespace forebay::node {

// Answers with a roster, and with what was put under other paths.
class FakeHead {
 public:
  void SetRoster(std::shared_ptr<const cluster::Roster> roster) {
    std::lock_guard lock(mutex_);
    roster_ = std::move(roster);
  }
  void Put(const std::string& path, std::string answer) {
    std::lock_guard lock(mutex_);
    answers_[path] = std::move(answer);
  }

  std::unique_ptr<cluster::HeadCaller> Caller() { return std::make_unique<Direct>(this); }

 private:
  class Direct : public cluster::HeadCaller {
   public:
    explicit Direct(FakeHead* head) : head_(*head) {}
    Result<std::string> Get(const std::string& path, Deadline) override {
      return head_.Answer(path);
    }
    Result<std::string> Post(const std::string& path, const std::string&,
                             Deadline) override {
      return head_.Answer(path);
    }

   private:
    FakeHead& head_;
  };

  Result<std::string> Answer(const std::string& path) {
    std::lock_guard lock(mutex_);
    if (auto found = answers_.find(path); found != answers_.end()) return found->second;
    if (path == cluster::kRegisterPath) {
      return ToJson(cluster::Registered{.fence = 1, .roster = roster_});
    }
    bool known = path == cluster::kHeartbeatPath ||
                 path.starts_with(cluster::kRosterPath) || path == cluster::kLeavePath;
    if (!known) return Status::NotFound("the head has nothing at " + path);
    return ToJson(cluster::HeartbeatAnswer{.roster = roster_});
  }

  std::mutex mutex_;
  std::shared_ptr<const cluster::Roster> roster_ = cluster::Roster::Empty();
  std::map<std::string, std::string> answers_;
};

// A member that serves chunks; a request's ref picks one by the number of its range.
class FakePeer : public flight::ChunkProvider {
 public:
  explicit FakePeer(std::vector<std::string> chunks) {
    for (const std::string& bytes : chunks) {
      chunks_.push_back(flight::MakeFakeChunk(bytes));
      uint64_t seed = storage::ChecksumSeed(chunks_.back().key);
      chunks_.back().checksum = HashBytes(bytes, seed);
    }
    service_ =
        flight::Service::Start({.socket = "/nowhere", .chunks = this}).ValueOrDie();
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(service_->port()); }
  // The next requests fail in this way, one after the other; ok: they do not.
  void Script(std::vector<Status> statuses) {
    std::lock_guard lock(mutex_);
    script_ = std::move(statuses);
  }
  // So many chunks, from the next one on that is in `range`, come with a wrong checksum.
  void Damage(uint32_t range, int times) {
    std::lock_guard lock(mutex_);
    damaged_range_ = range;
    damages_ = times;
  }
  std::vector<flight::ChunkRequest> asked() {
    std::lock_guard lock(mutex_);
    return asked_;
  }

  Result<std::unique_ptr<flight::ServedChunks>> Serve(
      const flight::ChunkRequest& request) override {
    std::lock_guard lock(mutex_);
    asked_.push_back(request);
    if (asked_.size() <= script_.size()) {
      FB_RETURN_NOT_OK(script_[asked_.size() - 1]);
    }
    return std::make_unique<Served>(this, request);
  }

 private:
  class Served : public flight::ServedChunks {
   public:
    Served(FakePeer* peer, flight::ChunkRequest request)
        : peer_(*peer), request_(std::move(request)) {}
    Result<flight::ServedChunk> At(size_t i, const std::function<bool()>&) override {
      uint32_t range = request_.refs[i].range;
      std::lock_guard lock(peer_.mutex_);
      if (range >= peer_.chunks_.size()) return Status::NotFound("no such chunk");
      flight::ServedChunk chunk = peer_.chunks_[range];
      if (range == peer_.damaged_range_ && peer_.damages_ > 0) {
        --peer_.damages_;
        chunk.checksum.low ^= 1;
      }
      return chunk;
    }

   private:
    FakePeer& peer_;
    flight::ChunkRequest request_;
  };

  std::mutex mutex_;
  std::vector<flight::ServedChunk> chunks_;
  std::vector<Status> script_;
  uint32_t damaged_range_ = 0;
  int damages_ = 0;
  std::vector<flight::ChunkRequest> asked_;
  std::unique_ptr<flight::Service> service_;  // ends first
};

// A roster of members "a", "b", … at these addresses.
inline std::shared_ptr<const cluster::Roster> RosterOf(
    const std::vector<std::string>& addresses, uint64_t epoch = 1) {
  cluster::Roster::Options options{.epoch = epoch};
  for (size_t i = 0; i < addresses.size(); ++i) {
    options.members.push_back({.id = std::string(1, static_cast<char>('a' + i)),
                               .host = "here",
                               .flight = addresses[i],
                               .fence = 1});
  }
  return cluster::Roster::Make(std::move(options)).ValueOrDie();
}

// This process as a member of that id, or as nobody; knows the roster.
inline std::shared_ptr<Cluster> JoinFake(
    FakeHead* head, const std::string& self = {},
    std::shared_ptr<SecondCopies> second_copies = nullptr) {
  Cluster::Options options;
  options.link.caller = head->Caller();
  options.second_copies = std::move(second_copies);
  if (!self.empty()) {
    options.link.self = cluster::Registration{.id = self, .instance = "1"};
  }
  std::shared_ptr<Cluster> joined = Cluster::Join(std::move(options)).ValueOrDie();
  FB_CHECK(joined->link().WaitForRoster(Deadline::After(std::chrono::seconds(10))).ok());
  return joined;
}

}  // namespace forebay::node
