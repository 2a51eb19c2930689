#include "flight/tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "base/start_thread.h"
#include "base/uri.h"
#include "flight/call_scope.h"

namespace forebay::flight {
namespace {

// How often idle tables hear of evictions.
constexpr milliseconds kTick = milliseconds(500);

// Options of the table, as its filter, say nothing about how the source was reached.
bool MayBeShown(const std::string& uri,
                const std::map<std::string, std::string>& options) {
  return RedactUri(uri) == uri && std::ranges::all_of(options, [](const auto& option) {
           return option.first.starts_with("forebay.");
         });
}

}  // namespace

Tables::Tables(Options options)
    : options_(std::move(options)), pool_(reader::BufferPool::Make()) {}

std::shared_ptr<Tables> Tables::Make(Options options) {
  auto tables = std::shared_ptr<Tables>(new Tables(std::move(options)));
  auto keeper = StartThread([raw = tables.get()] { raw->KeepHouse(); });
  if (keeper.ok()) {
    tables->keeper_ = *std::move(keeper);
  } else {
    spdlog::warn("tables that nobody reads stay open: {}", keeper.status().message());
  }
  return tables;
}

Tables::~Tables() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (keeper_.joinable()) keeper_.join();
}

Result<NamedDataset> Tables::Resolve(const TableName& name) const {
  NamedDataset found{.name = name.dataset, .uri = name.uri, .options = {}};
  if (!name.dataset.empty()) {
    if (options_.datasets == nullptr) {
      return Status::NotFound(fmt::format(
          "there is no dataset \"{}\": this server knows no names; give a uri",
          name.dataset));
    }
    FB_ASSIGN_OR_RETURN(found, options_.datasets->Find(name.dataset));
  }
  FB_RETURN_NOT_OK(CheckNotRelative(found.uri));
  for (const auto& [option, value] : name.options) found.options[option] = value;
  return found;
}

Result<Tables::Table> Tables::Open(const NamedDataset& dataset) const {
  reader::OpenOptions open;
  open.node.socket = options_.socket;
  open.node.await_named = false;  // the node is this process
  open.node.interrupted = [] { return CallScope::Ended(); };
  open.source = dataset.options;
  open.timeout = options_.timeout;
  return reader::RemoteTable::Open(dataset.uri, std::move(open));
}

Result<Tables::Lease> Tables::Take(const TableName& name) {
  FB_ASSIGN_OR_RETURN(NamedDataset dataset, Resolve(name));
  if (name.version) {
    Key key{dataset.uri, dataset.options, *name.version};
    FB_ASSIGN_OR_RETURN(Table table, Reuse(key));
    if (table != nullptr) return Lend(key, std::move(table));
  }
  FB_ASSIGN_OR_RETURN(Table opened, Open(dataset));
  Hash128 version = opened->manifest()->version();
  if (name.version && *name.version != version) {
    return Status::Changed(
        fmt::format("{} has changed: version={} wanted={}; ask for its flight info again",
                    RedactUri(dataset.uri), version.ToHex(), name.version->ToHex()));
  }
  Key key{dataset.uri, dataset.options, version};
  if (!name.version) {
    // One that has its chunks mapped serves better than the one just opened.
    FB_ASSIGN_OR_RETURN(Table table, Reuse(key));
    if (table != nullptr) return Lend(key, std::move(table));
  }
  return Lend(key, std::move(opened));
}

Result<Tables::Table> Tables::Reuse(const Key& key) {
  Table open;
  {
    std::lock_guard lock(mutex_);
    auto found = shelves_.find(key);
    if (found == shelves_.end()) return Table();
    Shelf& shelf = found->second;
    if (!shelf.idle.empty()) {
      Table table = std::move(shelf.idle.back().first);
      shelf.idle.pop_back();
      --idle_count_;
      return table;
    }
    open = shelf.any.lock();
  }
  if (open == nullptr) return Table();
  return open->Again();
}

Tables::Lease Tables::Lend(const Key& key, Table table) {
  {
    std::lock_guard lock(mutex_);
    shelves_[key].any = table;
  }
  reader::RemoteTable* raw = table.get();
  auto give_back = [weak = weak_from_this(), key,
                    table = std::move(table)](reader::RemoteTable*) mutable {
    if (auto tables = weak.lock()) tables->GiveBack(key, std::move(table));
    table.reset();
  };
  return Lease(raw, std::move(give_back));
}

void Tables::GiveBack(const Key& key, Table table) {
  Table oldest;  // closed outside the lock
  std::lock_guard lock(mutex_);
  if (stopping_) return;
  if (idle_count_ >= options_.idle_max) oldest = TakeOldest();
  shelves_[key].idle.emplace_back(std::move(table), Clock::Real().Now());
  ++idle_count_;
}

Tables::Table Tables::TakeOldest() {
  Shelf* found = nullptr;
  for (auto& [key, shelf] : shelves_) {
    // The front of a shelf has been idle longest.
    if (shelf.idle.empty()) continue;
    if (found == nullptr || shelf.idle.front().second < found->idle.front().second) {
      found = &shelf;
    }
  }
  if (found == nullptr) return nullptr;
  Table oldest = std::move(found->idle.front().first);
  found->idle.erase(found->idle.begin());
  --idle_count_;
  return oldest;
}

std::vector<NamedDataset> Tables::Recent() const {
  std::map<std::pair<std::string, std::map<std::string, std::string>>, NamedDataset>
      found;
  std::lock_guard lock(mutex_);
  for (const auto& [key, shelf] : shelves_) {
    const auto& [uri, options, version] = key;
    if (!MayBeShown(uri, options)) continue;
    found[{uri, options}] = {.name = {}, .uri = uri, .options = options};
  }
  std::vector<NamedDataset> out;
  for (auto& [key, dataset] : found) out.push_back(std::move(dataset));
  return out;
}

// Idle tables hear of evictions, so that they keep nothing mapped that the store let go.
void Tables::KeepHouse() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kTick, [this] { return stopping_; })) {
    std::vector<Table> expired = Expired(Clock::Real().Now());
    std::vector<Table> idle;
    for (auto& [key, shelf] : shelves_) {
      for (auto& [table, since] : shelf.idle) idle.push_back(table);
    }
    lock.unlock();
    expired.clear();
    for (Table& table : idle) table->Poll();
    idle.clear();
    lock.lock();
  }
}

std::vector<Tables::Table> Tables::Expired(TimePoint now) {
  std::vector<Table> expired;
  for (auto shelf = shelves_.begin(); shelf != shelves_.end();) {
    auto& idle = shelf->second.idle;
    std::erase_if(idle, [&](auto& entry) {
      if (now - entry.second < options_.idle_time) return false;
      expired.push_back(std::move(entry.first));
      --idle_count_;
      return true;
    });
    bool unused = idle.empty() && shelf->second.any.expired();
    shelf = unused ? shelves_.erase(shelf) : std::next(shelf);
  }
  return expired;
}

}  // namespace forebay::flight
