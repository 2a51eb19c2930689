// A thin leaf over SQLite: one connection and its prepared statements.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace forebay::sqlite {

enum class Mode {
  kReadOnly,   // the file must be there
  kReadWrite,  // the file must be there
  kCreate,     // made where it is missing
};

struct OpenOptions {
  Mode mode = Mode::kReadOnly;
  // How long a call waits for another process' lock before it is kUnavailable.
  milliseconds busy_timeout{5'000};
};

// One run of SQL text with its parameters. Belongs to its database and ends before it.
class Statement {
 public:
  // Parameters are counted from 1, as SQLite does. Texts are copied.
  Status Bind(int parameter, std::string_view text);
  Status Bind(int parameter, int64_t number);
  Status BindNull(int parameter);

  // True: a row is at hand. False: the statement is done.
  Result<bool> Step();
  // Columns of the row at hand, counted from 0; valid until the next Step.
  bool IsNull(int column) const;
  int64_t Int64(int column) const;
  // Empty for null.
  std::string Text(int column) const;
  // Ready to run again with the parameters it has.
  void Reset();

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(sqlite3* database, sqlite3_stmt* statement)
      : database_(database), statement_(statement) {}
  Status Check(int code) const;

  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// Used by one thread at a time.
class Database {
 public:
  // kNotFound (no such file), kPermission, kCorrupt (not a database), kUnavailable
  // (locked for longer than busy_timeout). Errors name the file.
  static Result<Database> Open(const std::string& path, const OpenOptions& options);

  Result<Statement> Prepare(std::string_view sql);
  // Runs statements that give no rows.
  Status Execute(const std::string& sql);
  // Rows that the last INSERT, UPDATE or DELETE changed.
  int64_t changed_rows() const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  explicit Database(sqlite3* database) : database_(database) {}

  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace forebay::sqlite
