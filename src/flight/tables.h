// The tables that streams of this server read. A stream has a table to itself, since one
// that waits for a fill must not keep others waiting; tables that are given back are kept
// for a while with what they have mapped, so that the next stream need not map it again.
// Thread-safe.
#pragma once

#include <condition_variable>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "flight/batch_command.h"
#include "flight/datasets.h"
#include "reader/buffer_pool.h"
#include "reader/remote_table.h"

namespace forebay::flight {

class Tables : public std::enable_shared_from_this<Tables> {
 public:
  struct Options {
    std::string socket;  // the node's
    Datasets* datasets = nullptr;
    milliseconds timeout = std::chrono::minutes(10);  // of every wait for the node
    size_t idle_max = 64;
    milliseconds idle_time = std::chrono::seconds(30);
  };
  static std::shared_ptr<Tables> Make(Options options);
  ~Tables();

  using Lease = std::shared_ptr<reader::RemoteTable>;
  // The version that is asked for, or the newest. Given back when the last copy goes.
  // kChanged when the version is no longer to be had.
  Result<Lease> Take(const TableName& name);
  // What was read here lately, each once, and only what all may know of: nothing that was
  // opened with options which may be credentials.
  std::vector<NamedDataset> Recent() const;
  const std::shared_ptr<reader::BufferPool>& pool() const { return pool_; }

 private:
  using Key = std::tuple<std::string, std::map<std::string, std::string>, Hash128>;
  using Table = std::shared_ptr<reader::RemoteTable>;
  struct Shelf {
    std::vector<std::pair<Table, TimePoint>> idle;
    std::weak_ptr<reader::RemoteTable> any;  // one that is, or was, in use
  };

  explicit Tables(Options options);
  Result<NamedDataset> Resolve(const TableName& name) const;
  Result<Table> Open(const NamedDataset& dataset) const;
  // An idle one, or one more of a version that is open; null when there is none.
  Result<Table> Reuse(const Key& key);
  Lease Lend(const Key& key, Table table);
  void GiveBack(const Key& key, Table table);
  Table TakeOldest();
  void KeepHouse();
  std::vector<Table> Expired(TimePoint now);

  const Options options_;
  const std::shared_ptr<reader::BufferPool> pool_;
  mutable std::mutex mutex_;  // of all below
  std::map<Key, Shelf> shelves_;
  size_t idle_count_ = 0;
  bool stopping_ = false;
  std::condition_variable wake_;
  std::thread keeper_;
};

}  // namespace forebay::flight
