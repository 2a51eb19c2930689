#include "leases/lease_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <thread>
#include <utility>

#include "leases/local_disk.h"

namespace forebay::leases {
namespace {

constexpr const char* kSchema = R"(
  CREATE TABLE IF NOT EXISTS epochs(
    epoch TEXT PRIMARY KEY, rows INTEGER NOT NULL, frontier INTEGER NOT NULL,
    next_fence INTEGER NOT NULL, boot TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS leases(
    epoch TEXT NOT NULL, first INTEGER NOT NULL, row_count INTEGER NOT NULL,
    fence INTEGER NOT NULL, expires_ms INTEGER NOT NULL, holder TEXT NOT NULL,
    PRIMARY KEY(epoch, first)) WITHOUT ROWID;
)";
constexpr int64_t kFormatVersion = 1;
// SQLite does not wait for locks while it changes the journal's mode.
constexpr milliseconds kRetryPause{5};

// Times of the monotonic clock mean nothing after the host was started anew.
std::string ReadBootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

// Undoes what was not committed.
class Transaction {
 public:
  explicit Transaction(sqlite::Database& database) : database_(database) {}
  ~Transaction() {
    // Nothing to do about a failure: SQLite rolls back when the file is closed, too.
    if (open_) (void)database_.Execute("ROLLBACK");
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  Status Begin() {
    FB_RETURN_NOT_OK(database_.Execute("BEGIN IMMEDIATE"));
    open_ = true;
    return Status::OK();
  }
  Status Commit() {
    FB_RETURN_NOT_OK(database_.Execute("COMMIT"));
    open_ = false;
    return Status::OK();
  }

 private:
  sqlite::Database& database_;
  bool open_ = false;
};

Result<int64_t> Number(sqlite::Database& database, std::string_view sql) {
  FB_ASSIGN_OR_RETURN(sqlite::Statement statement, database.Prepare(sql));
  FB_ASSIGN_OR_RETURN(bool found, statement.Step());
  return found ? statement.Int64(0) : 0;
}

Status MakeTables(sqlite::Database& database) {
  Transaction transaction(database);
  FB_RETURN_NOT_OK(transaction.Begin());
  FB_ASSIGN_OR_RETURN(int64_t version, Number(database, "PRAGMA user_version"));
  if (version > kFormatVersion) {
    return Status::Unsupported(
        fmt::format("the lease table has format {}, and this release knows {}", version,
                    kFormatVersion));
  }
  FB_RETURN_NOT_OK(database.Execute(kSchema));
  FB_RETURN_NOT_OK(
      database.Execute(fmt::format("PRAGMA user_version={}", kFormatVersion)));
  return transaction.Commit();
}

}  // namespace

LeaseFile::LeaseFile(Options options, sqlite::Database database)
    : options_(std::move(options)),
      database_(std::move(database)),
      boot_(ReadBootId()),
      pid_(::getpid()) {}

Result<std::unique_ptr<LeaseFile>> LeaseFile::Open(Options options) {
  FB_RETURN_NOT_OK(RequireLocalDisk(options.path));
  FB_ASSIGN_OR_RETURN(
      sqlite::Database database,
      sqlite::Database::Open(options.path, {.mode = sqlite::Mode::kCreate,
                                            .busy_timeout = options.busy_timeout}));
  auto file =
      std::unique_ptr<LeaseFile>(new LeaseFile(std::move(options), std::move(database)));
  Status status = file->Prepare();
  if (!status.ok()) return status.WithContext("leases in " + file->options_.path);
  return file;
}

// The write-ahead log makes a change one append. A crash of the host may lose the last
// changes, never tear one; a job that lost its host goes on from a checkpoint anyway.
Status LeaseFile::Prepare() {
  Deadline deadline = Deadline::After(options_.busy_timeout);
  Status status = database_.Execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL");
  while (IsRetryable(status) && !deadline.passed()) {
    std::this_thread::sleep_for(kRetryPause);
    status = database_.Execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL");
  }
  FB_RETURN_NOT_OK(status);
  FB_RETURN_NOT_OK(MakeTables(database_));
  return Change([](plan::LeaseTable&) { return Status::OK(); });
}

Status LeaseFile::Change(const std::function<Status(plan::LeaseTable&)>& change) {
  if (::getpid() != pid_) {
    return Status::Invalid(
        "the lease table was opened by another process: open it anew after a fork");
  }
  Transaction transaction(database_);
  FB_RETURN_NOT_OK(transaction.Begin());
  FB_ASSIGN_OR_RETURN(plan::LeaseTable table, Load());
  FB_RETURN_NOT_OK(change(table));
  FB_RETURN_NOT_OK(Save(table.state()));
  return transaction.Commit();
}

Result<plan::LeaseTable> LeaseFile::Load() {
  FB_ASSIGN_OR_RETURN(auto query,
                      database_.Prepare("SELECT rows, frontier, next_fence, boot "
                                        "FROM epochs WHERE epoch = ?"));
  FB_RETURN_NOT_OK(query.Bind(1, options_.epoch));
  FB_ASSIGN_OR_RETURN(bool known, query.Step());
  plan::LeaseTable::Options options{.rows = options_.rows,
                                    .lease_rows = options_.lease_rows,
                                    .lease_ms = options_.lease_time.count()};
  if (!known) return plan::LeaseTable::Make(options, {});
  auto rows = static_cast<uint64_t>(query.Int64(0));
  if (rows != options_.rows) {
    return Status::Invalid(fmt::format(
        "the epoch '{}' is there with {} rows, and this job has {}: name epochs "
        "by everything their order depends on",
        options_.epoch, rows, options_.rows));
  }
  FB_ASSIGN_OR_RETURN(plan::LeaseState state, LoadState());
  state.frontier = static_cast<uint64_t>(query.Int64(1));
  state.next_fence = static_cast<uint64_t>(query.Int64(2));
  FB_ASSIGN_OR_RETURN(auto table, plan::LeaseTable::Make(options, std::move(state)));
  if (query.Text(3) != boot_) table.ExpireAll(NowMs());
  return table;
}

Result<plan::LeaseState> LeaseFile::LoadState() {
  FB_ASSIGN_OR_RETURN(
      auto query, database_.Prepare("SELECT fence, first, row_count, expires_ms, holder "
                                    "FROM leases WHERE epoch = ? ORDER BY first"));
  FB_RETURN_NOT_OK(query.Bind(1, options_.epoch));
  plan::LeaseState state;
  for (;;) {
    FB_ASSIGN_OR_RETURN(bool more, query.Step());
    if (!more) return state;
    state.held.push_back({.fence = static_cast<uint64_t>(query.Int64(0)),
                          .first = static_cast<uint64_t>(query.Int64(1)),
                          .count = static_cast<uint64_t>(query.Int64(2)),
                          .expires_ms = query.Int64(3),
                          .holder = query.Text(4)});
  }
}

// All leases of the epoch anew: there are about as many as holders.
Status LeaseFile::Save(const plan::LeaseState& state) {
  FB_ASSIGN_OR_RETURN(
      auto epoch,
      database_.Prepare("INSERT OR REPLACE INTO epochs VALUES(?, ?, ?, ?, ?)"));
  FB_RETURN_NOT_OK(epoch.Bind(1, options_.epoch));
  FB_RETURN_NOT_OK(epoch.Bind(2, static_cast<int64_t>(options_.rows)));
  FB_RETURN_NOT_OK(epoch.Bind(3, static_cast<int64_t>(state.frontier)));
  FB_RETURN_NOT_OK(epoch.Bind(4, static_cast<int64_t>(state.next_fence)));
  FB_RETURN_NOT_OK(epoch.Bind(5, boot_));
  FB_RETURN_NOT_OK(epoch.Step().status());
  FB_ASSIGN_OR_RETURN(auto erase,
                      database_.Prepare("DELETE FROM leases WHERE epoch = ?"));
  FB_RETURN_NOT_OK(erase.Bind(1, options_.epoch));
  FB_RETURN_NOT_OK(erase.Step().status());
  FB_ASSIGN_OR_RETURN(auto insert,
                      database_.Prepare("INSERT INTO leases VALUES(?, ?, ?, ?, ?, ?)"));
  for (const plan::Lease& lease : state.held) {
    insert.Reset();
    FB_RETURN_NOT_OK(insert.Bind(1, options_.epoch));
    FB_RETURN_NOT_OK(insert.Bind(2, static_cast<int64_t>(lease.first)));
    FB_RETURN_NOT_OK(insert.Bind(3, static_cast<int64_t>(lease.count)));
    FB_RETURN_NOT_OK(insert.Bind(4, static_cast<int64_t>(lease.fence)));
    FB_RETURN_NOT_OK(insert.Bind(5, lease.expires_ms));
    FB_RETURN_NOT_OK(insert.Bind(6, lease.holder));
    FB_RETURN_NOT_OK(insert.Step().status());
  }
  return Status::OK();
}

Result<plan::LeaseGrant> LeaseFile::Take() {
  plan::LeaseGrant grant;
  FB_RETURN_NOT_OK(Change([&](plan::LeaseTable& table) {
    grant = table.Take(options_.holder, NowMs());
    return Status::OK();
  }));
  return grant;
}

Status LeaseFile::Acknowledge(uint64_t fence, uint64_t until) {
  return Change(
      [&](plan::LeaseTable& table) { return table.Acknowledge(fence, until, NowMs()); });
}

Status LeaseFile::Renew(uint64_t fence) {
  return Change([&](plan::LeaseTable& table) { return table.Renew(fence, NowMs()); });
}

Status LeaseFile::Release(uint64_t fence) {
  return Change([&](plan::LeaseTable& table) { return table.Release(fence, NowMs()); });
}

Result<LeaseProgress> LeaseFile::Progress() {
  LeaseProgress progress{.rows = options_.rows};
  FB_RETURN_NOT_OK(Change([&](plan::LeaseTable& table) {
    progress.acknowledged_rows = table.acknowledged_rows();
    progress.held_rows = table.state().frontier - progress.acknowledged_rows;
    progress.lease_count = table.state().held.size();
    return Status::OK();
  }));
  return progress;
}

milliseconds LeaseFile::Until(int64_t retry_ms) const {
  return milliseconds(std::max<int64_t>(0, retry_ms - NowMs()));
}

int64_t LeaseFile::NowMs() const {
  return std::chrono::duration_cast<milliseconds>(
             options_.clock->Now().time_since_epoch())
      .count();
}

}  // namespace forebay::leases
