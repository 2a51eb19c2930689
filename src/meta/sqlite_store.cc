#include "meta/sqlite_store.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <thread>
#include <utility>

#include "base/errno_status.h"
#include "base/unique_fd.h"
#include "meta/store_errors.h"

namespace forebay::meta {
namespace {

constexpr const char* kSchema = R"(
  CREATE TABLE IF NOT EXISTS entries(
    key TEXT PRIMARY KEY, value TEXT NOT NULL, version INTEGER NOT NULL,
    lease INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS leases(
    id INTEGER PRIMARY KEY AUTOINCREMENT, ttl_ms INTEGER NOT NULL,
    ends_ns INTEGER NOT NULL, boot TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS revision(number INTEGER NOT NULL);
  INSERT INTO revision SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM revision);
)";
constexpr int64_t kFormatVersion = 1;
// Other processes' changes are seen by looking.
constexpr milliseconds kLook{50};

std::string BootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

Result<int64_t> Number(sqlite::Database& database, std::string_view sql) {
  FB_ASSIGN_OR_RETURN(sqlite::Statement statement, database.Prepare(sql));
  FB_ASSIGN_OR_RETURN(bool found, statement.Step());
  return found ? statement.Int64(0) : 0;
}

Status MakeTables(sqlite::Database& database) {
  FB_RETURN_NOT_OK(database.Execute("PRAGMA synchronous=FULL"));
  FB_RETURN_NOT_OK(database.Execute("BEGIN IMMEDIATE"));
  FB_ASSIGN_OR_RETURN(int64_t version, Number(database, "PRAGMA user_version"));
  if (version > kFormatVersion) {
    return Status::Unsupported(
        fmt::format("the metadata has format {}, and this release knows {}", version,
                    kFormatVersion));
  }
  FB_RETURN_NOT_OK(database.Execute(kSchema));
  FB_RETURN_NOT_OK(
      database.Execute(fmt::format("PRAGMA user_version={}", kFormatVersion)));
  return database.Execute("COMMIT");
}

Status MakePrivateFile(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  return fd.get() >= 0 ? Status::OK() : ErrnoStatus(errno, "open " + path);
}

}  // namespace

SqliteStore::SqliteStore(sqlite::Database database, const Clock* clock)
    : database_(std::move(database)), clock_(clock), boot_(BootId()) {}

Result<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& path,
                                                       const Clock* clock) {
  FB_RETURN_NOT_OK(MakePrivateFile(path));
  FB_ASSIGN_OR_RETURN(auto database,
                      sqlite::Database::Open(path, {.mode = sqlite::Mode::kReadWrite}));
  Status made = MakeTables(database);
  if (!made.ok()) return made.WithContext(path);
  return std::unique_ptr<SqliteStore>(new SqliteStore(std::move(database), clock));
}

int64_t SqliteStore::Now() const {
  return std::chrono::nanoseconds(clock_->Now().time_since_epoch()).count();
}

Status SqliteStore::Transact(const std::function<Status()>& work) {
  std::lock_guard lock(mutex_);
  FB_RETURN_NOT_OK(database_.Execute("BEGIN IMMEDIATE"));
  Status status = Expire();
  if (status.ok()) {
    Status done = work();
    // What ended by itself has ended, whatever becomes of the work: it changes nothing
    // before it can fail.
    status = database_.Execute("COMMIT");
    if (!done.ok()) status = done;
  }
  if (!status.ok()) (void)database_.Execute("ROLLBACK");  // fails where nothing is open
  return status;
}

Status SqliteStore::EndLeases(const std::string& condition) {
  FB_RETURN_NOT_OK(database_.Execute(fmt::format(
      "DELETE FROM entries WHERE lease IN (SELECT id FROM leases WHERE {})", condition)));
  if (database_.changed_rows() > 0) FB_RETURN_NOT_OK(NextRevision().status());
  return database_.Execute("DELETE FROM leases WHERE " + condition);
}

Status SqliteStore::Expire() {
  std::string ended = fmt::format("(ends_ns <= {} OR boot <> '{}')", Now(), boot_);
  FB_ASSIGN_OR_RETURN(int64_t count,
                      Number(database_, "SELECT count(*) FROM leases WHERE " + ended));
  return count == 0 ? Status::OK() : EndLeases(ended);
}

Result<uint64_t> SqliteStore::Revision() {
  FB_ASSIGN_OR_RETURN(int64_t number, Number(database_, "SELECT number FROM revision"));
  return static_cast<uint64_t>(number);
}

Result<uint64_t> SqliteStore::NextRevision() {
  FB_RETURN_NOT_OK(database_.Execute("UPDATE revision SET number = number + 1"));
  return Revision();
}

Result<uint64_t> SqliteStore::VersionOf(const std::string& key) {
  FB_ASSIGN_OR_RETURN(auto statement,
                      database_.Prepare("SELECT version FROM entries WHERE key = ?"));
  FB_RETURN_NOT_OK(statement.Bind(1, key));
  FB_ASSIGN_OR_RETURN(bool found, statement.Step());
  return found ? static_cast<uint64_t>(statement.Int64(0)) : kAbsent;
}

Status SqliteStore::CheckVersion(const std::string& key,
                                 std::optional<uint64_t> expected) {
  if (!expected.has_value()) return Status::OK();
  FB_ASSIGN_OR_RETURN(uint64_t version, VersionOf(key));
  return version == *expected ? Status::OK() : VersionChanged(key);
}

Status SqliteStore::CheckLease(LeaseId lease) {
  if (lease == kNoLease) return Status::OK();
  FB_ASSIGN_OR_RETURN(
      int64_t count,
      Number(database_, fmt::format("SELECT count(*) FROM leases WHERE id = {}", lease)));
  return count > 0 ? Status::OK() : NoSuchLease(lease);
}

Result<Entry> SqliteStore::Get(const std::string& key) {
  Entry entry{.key = key};
  FB_RETURN_NOT_OK(Transact([&]() -> Status {
    FB_ASSIGN_OR_RETURN(
        auto statement,
        database_.Prepare("SELECT value, version FROM entries WHERE key = ?"));
    FB_RETURN_NOT_OK(statement.Bind(1, key));
    FB_ASSIGN_OR_RETURN(bool found, statement.Step());
    if (!found) return NoSuchKey(key);
    entry.value = statement.Text(0);
    entry.version = static_cast<uint64_t>(statement.Int64(1));
    return Status::OK();
  }));
  return entry;
}

Result<uint64_t> SqliteStore::Put(const std::string& key, const std::string& value,
                                  const PutOptions& options) {
  uint64_t version = 0;
  FB_RETURN_NOT_OK(Transact([&]() -> Status {
    FB_RETURN_NOT_OK(CheckVersion(key, options.if_version));
    FB_RETURN_NOT_OK(CheckLease(options.lease));
    FB_ASSIGN_OR_RETURN(
        auto statement,
        database_.Prepare("INSERT OR REPLACE INTO entries VALUES"
                          "(?, ?, (SELECT number + 1 FROM revision), ?)"));
    FB_RETURN_NOT_OK(statement.Bind(1, key));
    FB_RETURN_NOT_OK(statement.Bind(2, value));
    FB_RETURN_NOT_OK(statement.Bind(3, options.lease));
    FB_RETURN_NOT_OK(statement.Step().status());
    FB_ASSIGN_OR_RETURN(version, NextRevision());
    return Status::OK();
  }));
  return version;
}

Status SqliteStore::Delete(const std::string& key, std::optional<uint64_t> if_version) {
  return Transact([&]() -> Status {
    FB_ASSIGN_OR_RETURN(uint64_t version, VersionOf(key));
    if (version == kAbsent) return NoSuchKey(key);
    FB_RETURN_NOT_OK(CheckVersion(key, if_version));
    FB_ASSIGN_OR_RETURN(auto statement,
                        database_.Prepare("DELETE FROM entries WHERE key = ?"));
    FB_RETURN_NOT_OK(statement.Bind(1, key));
    FB_RETURN_NOT_OK(statement.Step().status());
    return NextRevision().status();
  });
}

Result<Listing> SqliteStore::List(const std::string& prefix) {
  Listing listing;
  FB_RETURN_NOT_OK(Transact([&]() -> Status {
    FB_ASSIGN_OR_RETURN(listing.revision, Revision());
    FB_ASSIGN_OR_RETURN(
        auto statement,
        database_.Prepare("SELECT key, value, version FROM entries WHERE key >= ?1 "
                          "AND substr(key, 1, length(?1)) = ?1 ORDER BY key"));
    FB_RETURN_NOT_OK(statement.Bind(1, prefix));
    while (true) {
      FB_ASSIGN_OR_RETURN(bool found, statement.Step());
      if (!found) return Status::OK();
      listing.entries.push_back({.key = statement.Text(0),
                                 .value = statement.Text(1),
                                 .version = static_cast<uint64_t>(statement.Int64(2))});
    }
  }));
  return listing;
}

Result<uint64_t> SqliteStore::WaitForChange(const std::string&, uint64_t revision,
                                            Deadline deadline) {
  while (true) {
    uint64_t now = 0;
    FB_RETURN_NOT_OK(Transact([&]() -> Status {
      FB_ASSIGN_OR_RETURN(now, Revision());
      return Status::OK();
    }));
    if (now > revision) return now;
    if (deadline.passed()) return revision;
    std::this_thread::sleep_for(std::min(kLook, deadline.Remaining()));
  }
}

Result<LeaseId> SqliteStore::GrantLease(milliseconds ttl) {
  LeaseId id = kNoLease;
  FB_RETURN_NOT_OK(Transact([&]() -> Status {
    int64_t ends = Now() + std::chrono::nanoseconds(ttl).count();
    FB_RETURN_NOT_OK(database_.Execute(
        fmt::format("INSERT INTO leases(ttl_ms, ends_ns, boot) VALUES({}, {}, '{}')",
                    ttl.count(), ends, boot_)));
    FB_ASSIGN_OR_RETURN(id, Number(database_, "SELECT last_insert_rowid()"));
    return Status::OK();
  }));
  return id;
}

Status SqliteStore::KeepAlive(LeaseId lease) {
  return Transact([&]() -> Status {
    FB_RETURN_NOT_OK(database_.Execute(
        fmt::format("UPDATE leases SET ends_ns = {} + ttl_ms * 1000000 WHERE id = {}",
                    Now(), lease)));
    return database_.changed_rows() > 0 ? Status::OK() : NoSuchLease(lease);
  });
}

Status SqliteStore::EndLease(LeaseId lease) {
  return Transact([&]() -> Status {
    FB_RETURN_NOT_OK(CheckLease(lease == kNoLease ? -1 : lease));
    return EndLeases(fmt::format("id = {}", lease));
  });
}

}  // namespace forebay::meta
