// SQLite's result codes become ours here and nowhere else.
#pragma once

#include <string_view>

#include "base/status.h"

namespace forebay::sqlite {

StatusCode CodeFromSqlite(int code);

// "<what>: <SQLite's own sentence>". OK for SQLITE_OK, SQLITE_ROW and SQLITE_DONE.
Status SqliteStatus(int code, std::string_view what, const char* detail);

}  // namespace forebay::sqlite
