#include "sqlite/database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "base/errno_status.h"
#include "sqlite/sqlite_status.h"

namespace forebay::sqlite {
namespace {

int FlagsOf(Mode mode) {
  switch (mode) {
    case Mode::kReadOnly: return SQLITE_OPEN_READONLY;
    case Mode::kReadWrite: return SQLITE_OPEN_READWRITE;
    case Mode::kCreate: return SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  }
  return SQLITE_OPEN_READONLY;
}

// SQLite says "unable to open" for whatever is wrong; the system says what it is. Asked
// without opening: closing a second descriptor would drop the locks that other
// connections of this process hold.
Status CheckOpenable(const std::string& path, Mode mode) {
  if (mode == Mode::kCreate) return Status::OK();
  int wanted = mode == Mode::kReadOnly ? R_OK : R_OK | W_OK;
  if (::faccessat(AT_FDCWD, path.c_str(), wanted, AT_EACCESS) == 0) return Status::OK();
  return ErrnoStatus(errno, "open the database " + path);
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Status Statement::Check(int code) const {
  const char* file = sqlite3_db_filename(database_, "main");
  return SqliteStatus(code, std::string("the database ") + (file != nullptr ? file : ""),
                      sqlite3_errmsg(database_));
}

Status Statement::Bind(int parameter, std::string_view text) {
  return Check(sqlite3_bind_text64(statement_.get(), parameter, text.data(), text.size(),
                                   SQLITE_TRANSIENT, SQLITE_UTF8));
}

Status Statement::Bind(int parameter, int64_t number) {
  return Check(sqlite3_bind_int64(statement_.get(), parameter, number));
}

Status Statement::BindNull(int parameter) {
  return Check(sqlite3_bind_null(statement_.get(), parameter));
}

Result<bool> Statement::Step() {
  int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  Status status = Check(code);
  sqlite3_reset(statement_.get());
  return status;
}

bool Statement::IsNull(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

int64_t Statement::Int64(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string Statement::Text(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_.get(), column);
  if (text == nullptr) return {};
  auto size = static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column));
  return {reinterpret_cast<const char*>(text), size};
}

void Statement::Reset() { sqlite3_reset(statement_.get()); }

void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Result<Database> Database::Open(const std::string& path, const OpenOptions& options) {
  FB_RETURN_NOT_OK(CheckOpenable(path, options.mode));
  sqlite3* raw = nullptr;
  int code = sqlite3_open_v2(path.c_str(), &raw,
                             FlagsOf(options.mode) | SQLITE_OPEN_FULLMUTEX, nullptr);
  Database database(raw);  // to be closed even when it could not be opened
  if (raw == nullptr) return Status::Full("no memory to open the database " + path);
  FB_RETURN_NOT_OK(SqliteStatus(code, "open the database " + path, sqlite3_errmsg(raw)));
  sqlite3_extended_result_codes(raw, 1);
  auto wait = std::clamp<int64_t>(options.busy_timeout.count(), 0, INT_MAX);
  sqlite3_busy_timeout(raw, static_cast<int>(wait));
  return database;
}

Result<Statement> Database::Prepare(std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  int code = sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()),
                                &raw, nullptr);
  Statement statement(database_.get(), raw);
  FB_RETURN_NOT_OK(statement.Check(code));
  if (raw == nullptr) return Status::Invalid("the SQL text holds no statement");
  return statement;
}

Status Database::Execute(const std::string& sql) {
  int code = sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  return Statement(database_.get(), nullptr).Check(code);
}

int64_t Database::changed_rows() const { return sqlite3_changes64(database_.get()); }

}  // namespace forebay::sqlite
