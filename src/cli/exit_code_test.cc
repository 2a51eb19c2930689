#include "cli/exit_code.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace forebay::cli {
namespace {

// The numbers are a promise: scripts compare with them.
const std::vector<std::pair<StatusCode, int>> kTable = {
    {StatusCode::kOk, 0},           {StatusCode::kInternal, 1},
    {StatusCode::kInvalid, 2},      {StatusCode::kNotFound, 3},
    {StatusCode::kPermission, 4},   {StatusCode::kChanged, 5},
    {StatusCode::kCorrupt, 6},      {StatusCode::kFull, 7},
    {StatusCode::kUnavailable, 8},  {StatusCode::kDeadline, 9},
    {StatusCode::kUnsupported, 10}, {StatusCode::kCancelled, 12},
};

TEST(ExitCode, OfEveryStatusCodeIsAsDocumented) {
  for (const auto& [code, exit_code] : kTable) {
    EXPECT_EQ(static_cast<int>(ExitCodeOf(code)), exit_code) << StatusCodeName(code);
  }
  EXPECT_EQ(kTable.size(), static_cast<size_t>(StatusCode::kInternal) + 1);
}

TEST(ExitCode, TellsEveryStatusCodeApart) {
  std::set<int> seen;
  for (const auto& [code, exit_code] : kTable) seen.insert(exit_code);
  EXPECT_EQ(seen.size(), kTable.size());
  EXPECT_FALSE(seen.contains(static_cast<int>(ExitCode::kPartial)));
}

}  // namespace
}  // namespace forebay::cli
