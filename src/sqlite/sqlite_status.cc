#include "sqlite/sqlite_status.h"

#include <sqlite3.h>

#include <string>

namespace forebay::sqlite {

StatusCode CodeFromSqlite(int code) {
  switch (code & 0xff) {  // the extended codes say more in their upper bits
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE: return StatusCode::kOk;
    case SQLITE_ERROR:
    case SQLITE_RANGE:
    case SQLITE_TOOBIG:
    case SQLITE_MISMATCH:
    case SQLITE_CONSTRAINT: return StatusCode::kInvalid;
    case SQLITE_CANTOPEN: return StatusCode::kNotFound;
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY: return StatusCode::kPermission;
    case SQLITE_CORRUPT:
    case SQLITE_FORMAT:
    case SQLITE_NOTADB: return StatusCode::kCorrupt;
    case SQLITE_FULL:
    case SQLITE_NOMEM: return StatusCode::kFull;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
    case SQLITE_SCHEMA:
    case SQLITE_IOERR: return StatusCode::kUnavailable;
    case SQLITE_INTERRUPT:
    case SQLITE_ABORT: return StatusCode::kCancelled;
    case SQLITE_NOLFS: return StatusCode::kUnsupported;
    default: return StatusCode::kInternal;
  }
}

Status SqliteStatus(int code, std::string_view what, const char* detail) {
  StatusCode ours = CodeFromSqlite(code);
  if (ours == StatusCode::kOk) return Status::OK();
  std::string message(what);
  message += ": ";
  message += detail != nullptr && *detail != '\0' ? detail : sqlite3_errstr(code);
  return {ours, std::move(message)};
}

}  // namespace forebay::sqlite
