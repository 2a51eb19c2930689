#include "base/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <sstream>

#include "base/errno_status.h"

namespace forebay {
namespace {

Result<int> Half(int n) {
  if (n % 2 != 0) return Status::Invalid("odd");
  return n / 2;
}

Status Quarter(int n, int* out) {
  FB_ASSIGN_OR_RETURN(int half, Half(n));
  FB_ASSIGN_OR_RETURN(*out, Half(half));
  return Status::OK();
}

Status TwoQuarters(int n, int* out) {
  FB_RETURN_NOT_OK(Quarter(n, out).WithContext("first"));
  FB_RETURN_NOT_OK(Quarter(*out, out).WithContext("second"));
  return Status::OK();
}

TEST(Status, IsOkByDefault) {
  EXPECT_TRUE(Status().ok());
  EXPECT_EQ(Status(), Status::OK());
  EXPECT_EQ(Status::OK().ToString(), "ok");
}

TEST(Status, SaysItsCodeAndMessage) {
  std::ostringstream out;
  out << Status::Changed("s3://b/k was overwritten");
  EXPECT_EQ(out.str(), "source changed: s3://b/k was overwritten");
}

TEST(Status, GetsContextInFrontButKeepsItsCode) {
  Status status = Status::Corrupt("page 3").WithContext("a.parquet");
  EXPECT_EQ(status, Status(StatusCode::kCorrupt, "a.parquet: page 3"));
  EXPECT_TRUE(Status::OK().WithContext("a.parquet").ok());
}

TEST(Status, HasADistinctNameForEveryCode) {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(StatusCode::kInternal); ++code) {
    names.insert(StatusCodeName(static_cast<StatusCode>(code)));
  }
  EXPECT_EQ(names.size(), 12U);
  EXPECT_FALSE(names.contains("unknown"));
}

TEST(Status, IsRetryableOnlyWhenUnavailable) {
  for (int code = 0; code <= static_cast<int>(StatusCode::kInternal); ++code) {
    Status status(static_cast<StatusCode>(code), "x");
    EXPECT_EQ(IsRetryable(status), status.code() == StatusCode::kUnavailable) << status;
  }
}

TEST(Result, HoldsAValueOrAStatus) {
  EXPECT_EQ(*Half(4), 2);
  EXPECT_EQ(Half(3).status(), Status::Invalid("odd"));
  EXPECT_TRUE(Half(4).status().ok());
}

TEST(Result, MadeFromAnOkStatusIsAnInternalError) {
  Result<int> result = Status::OK();
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kInternal);
}

TEST(Result, MovesValuesThatCannotBeCopied) {
  auto make = []() -> Result<std::unique_ptr<int>> { return std::make_unique<int>(7); };
  std::unique_ptr<int> value = *make();
  EXPECT_EQ(*value, 7);
}

TEST(Result, ConvertsWhatConvertsToItsValue) {
  auto text = []() -> Result<std::string> { return "abc"; };
  auto shared = []() -> Result<std::shared_ptr<const int>> {
    return std::make_shared<int>(5);
  };
  EXPECT_EQ(*text(), "abc");
  EXPECT_EQ(**shared(), 5);
}

TEST(ResultDeathTest, SaysTheStatusWhenItDies) {
  EXPECT_DEATH((void)Half(3).ValueOrDie(), "invalid: odd");
}

TEST(Macros, StopAtTheFirstFailure) {
  int out = 0;
  EXPECT_TRUE(TwoQuarters(32, &out).ok());
  EXPECT_EQ(out, 2);
  EXPECT_EQ(TwoQuarters(6, &out), Status::Invalid("first: odd"));
  EXPECT_EQ(TwoQuarters(8, &out), Status::Invalid("second: odd"));
}

TEST(ChecksDeathTest, PrintTheConditionAndThePlace) {
  EXPECT_DEATH(FB_CHECK(1 + 1 == 3), "status_test.cc:.*check failed: 1 \\+ 1 == 3");
}

TEST(ErrnoStatus, MapsEveryErrnoACallerActsOn) {
  const std::pair<int, StatusCode> kTable[] = {{ENOENT, StatusCode::kNotFound},
                                               {ENOTDIR, StatusCode::kNotFound},
                                               {EACCES, StatusCode::kPermission},
                                               {EPERM, StatusCode::kPermission},
                                               {EROFS, StatusCode::kPermission},
                                               {ENOSPC, StatusCode::kFull},
                                               {EDQUOT, StatusCode::kFull},
                                               {ENOMEM, StatusCode::kFull},
                                               {EMFILE, StatusCode::kFull},
                                               {EINVAL, StatusCode::kInvalid},
                                               {EISDIR, StatusCode::kInvalid},
                                               {EPIPE, StatusCode::kUnavailable},
                                               {ECONNRESET, StatusCode::kUnavailable},
                                               {ECONNREFUSED, StatusCode::kUnavailable},
                                               {ETIMEDOUT, StatusCode::kDeadline},
                                               {EIO, StatusCode::kInternal}};
  for (auto [error, code] : kTable) EXPECT_EQ(CodeFromErrno(error), code) << error;
}

TEST(ErrnoStatus, NamesTheThingAndTheReason) {
  EXPECT_EQ(ErrnoStatus(ENOENT, "open /data/x").message(),
            "open /data/x: No such file or directory");
}

}  // namespace
}  // namespace forebay
