#include "sqlite/database.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "sqlite/sqlite_status.h"

namespace forebay::sqlite {
namespace {

struct DatabaseTest : testing::Test {
  DatabaseTest() {
    std::string name = testing::TempDir() + "forebay-sqlite-XXXXXX";
    folder = ::mkdtemp(name.data());
    path = folder + "/x.db";
  }
  ~DatabaseTest() override { std::filesystem::remove_all(folder); }

  Database Make() {
    Database db = Database::Open(path, {.mode = Mode::kCreate}).ValueOrDie();
    EXPECT_EQ(db.Execute("CREATE TABLE t (k TEXT PRIMARY KEY, v INTEGER)"), Status::OK());
    return db;
  }

  std::string folder;
  std::string path;
};

TEST_F(DatabaseTest, GivesBackWhatWasBound) {
  Database db = Make();
  std::string text("a\0'b", 4);
  {
    Statement insert = db.Prepare("INSERT INTO t VALUES (?, ?)").ValueOrDie();
    ASSERT_EQ(insert.Bind(1, text), Status::OK());
    ASSERT_EQ(insert.Bind(2, INT64_MIN), Status::OK());
    EXPECT_FALSE(insert.Step().ValueOrDie());
    EXPECT_EQ(db.changed_rows(), 1);
    insert.Reset();
    ASSERT_EQ(insert.Bind(1, "other"), Status::OK());
    ASSERT_EQ(insert.BindNull(2), Status::OK());
    EXPECT_FALSE(insert.Step().ValueOrDie());
  }
  Database reader = Database::Open(path, {}).ValueOrDie();
  Statement select = reader.Prepare("SELECT k, v FROM t ORDER BY k").ValueOrDie();
  ASSERT_TRUE(select.Step().ValueOrDie());
  EXPECT_EQ(select.Text(0), text);
  EXPECT_EQ(select.Int64(1), INT64_MIN);
  ASSERT_TRUE(select.Step().ValueOrDie());
  EXPECT_TRUE(select.IsNull(1));
  EXPECT_EQ(select.Text(1), "");
  EXPECT_FALSE(select.Step().ValueOrDie());
}

TEST_F(DatabaseTest, MakesAFileOnlyWhenAsked) {
  for (Mode mode : {Mode::kReadOnly, Mode::kReadWrite}) {
    Status status = Database::Open(path, {.mode = mode}).status();
    EXPECT_EQ(status.code(), StatusCode::kNotFound) << status;
    EXPECT_NE(status.message().find(path), std::string::npos) << status;
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(DatabaseTest, WritesNothingWhenItOnlyReads) {
  Make();
  Database reader = Database::Open(path, {}).ValueOrDie();
  EXPECT_EQ(reader.Execute("DELETE FROM t").code(), StatusCode::kPermission);
}

TEST_F(DatabaseTest, SaysThatAFileIsNoDatabase) {
  std::ofstream(path) << std::string(4096, 'x');
  Database db = Database::Open(path, {}).ValueOrDie();
  Status status = db.Prepare("SELECT * FROM t").status();
  EXPECT_EQ(status.code(), StatusCode::kCorrupt) << status;
  EXPECT_NE(status.message().find(path), std::string::npos) << status;
}

TEST_F(DatabaseTest, SaysThatAnotherHoldsTheLock) {
  Database first = Make();
  ASSERT_EQ(first.Execute("BEGIN EXCLUSIVE"), Status::OK());
  Database second =
      Database::Open(path, {.mode = Mode::kReadWrite, .busy_timeout = milliseconds(1)})
          .ValueOrDie();
  EXPECT_EQ(second.Execute("INSERT INTO t VALUES ('a', 1)").code(),
            StatusCode::kUnavailable);
  ASSERT_EQ(first.Execute("COMMIT"), Status::OK());
  EXPECT_EQ(second.Execute("INSERT INTO t VALUES ('a', 1)"), Status::OK());
}

TEST_F(DatabaseTest, TakesALockedStepForAFailureAndNotForTheLastRow) {
  Database first = Make();
  ASSERT_EQ(first.Execute("BEGIN EXCLUSIVE"), Status::OK());
  Database second =
      Database::Open(path, {.mode = Mode::kReadWrite, .busy_timeout = milliseconds(1)})
          .ValueOrDie();
  ASSERT_EQ(first.Execute("COMMIT"), Status::OK());
  Statement insert = second.Prepare("INSERT INTO t VALUES ('a', 1)").ValueOrDie();
  ASSERT_EQ(first.Execute("BEGIN EXCLUSIVE"), Status::OK());
  EXPECT_EQ(insert.Step().status().code(), StatusCode::kUnavailable);
  ASSERT_EQ(first.Execute("COMMIT"), Status::OK());
  EXPECT_FALSE(insert.Step().ValueOrDie());
  EXPECT_EQ(second.changed_rows(), 1);
}

TEST_F(DatabaseTest, WaitsForALockAsLongAsItWasTold) {
  Database first = Make();
  ASSERT_EQ(first.Execute("BEGIN EXCLUSIVE"), Status::OK());
  constexpr milliseconds kPatience(200);
  Database second =
      Database::Open(path, {.mode = Mode::kReadWrite, .busy_timeout = kPatience})
          .ValueOrDie();
  auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(second.Execute("INSERT INTO t VALUES ('a', 1)").code(),
            StatusCode::kUnavailable);
  // SQLite counts its own pauses, which may be a little longer than it meant them to be.
  EXPECT_GE(std::chrono::steady_clock::now() - began, kPatience * 3 / 4);
}

TEST_F(DatabaseTest, NamesWrongSql) {
  Database db = Make();
  EXPECT_EQ(db.Prepare("SELECT nothing FROM nowhere").status().code(),
            StatusCode::kInvalid);
  EXPECT_EQ(db.Prepare("").status().code(), StatusCode::kInvalid);
  Statement insert = db.Prepare("INSERT INTO t VALUES ('a', 1)").ValueOrDie();
  EXPECT_EQ(insert.Bind(1, "x").code(), StatusCode::kInvalid);
  EXPECT_TRUE(insert.Step().ok());
  EXPECT_EQ(insert.Step().status().code(), StatusCode::kInvalid);  // twice the same key
}

TEST(SqliteStatus, MapsWhatACallerActsOn) {
  EXPECT_EQ(CodeFromSqlite(SQLITE_ROW), StatusCode::kOk);
  EXPECT_EQ(CodeFromSqlite(SQLITE_BUSY_SNAPSHOT), StatusCode::kUnavailable);
  EXPECT_EQ(CodeFromSqlite(SQLITE_FULL), StatusCode::kFull);
  EXPECT_EQ(CodeFromSqlite(SQLITE_IOERR_READ), StatusCode::kUnavailable);
  EXPECT_EQ(CodeFromSqlite(SQLITE_CONSTRAINT_UNIQUE), StatusCode::kInvalid);
  EXPECT_EQ(SqliteStatus(SQLITE_NOTADB, "the database x", ""),
            Status::Corrupt("the database x: file is not a database"));
}

}  // namespace
}  // namespace forebay::sqlite
