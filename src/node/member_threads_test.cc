// The background threads of a member at the limit of threads: each start is refused with
// the same sentence, and ends with nothing to join.
#include <gtest/gtest.h>

#include "node/held_versions.h"
#include "node/share_restorer.h"
#include "node/share_warmer.h"
#include "support/no_threads.h"

namespace forebay::node {
namespace {

template <typename Started>
void ExpectRefused(const Started& started) {
  EXPECT_EQ(started.status().code(), StatusCode::kFull);
  EXPECT_NE(started.status().message().find("ulimit -u"), std::string::npos);
}

// Only the threads would use the engine and the datasets.
TEST(HeldVersions, AtTheLimitOfThreadsSaysSo) {
  testing_support::NoThreads limit;
  ExpectRefused(HeldVersions::Start(nullptr, nullptr));
}

TEST(ShareWarmer, AtTheLimitOfThreadsSaysSo) {
  testing_support::NoThreads limit;
  ExpectRefused(ShareWarmer::Start(nullptr, nullptr, nullptr));
}

TEST(ShareRestorer, AtTheLimitOfThreadsSaysSo) {
  testing_support::NoThreads limit;
  ExpectRefused(ShareRestorer::Start(nullptr, nullptr, nullptr));
}

}  // namespace
}  // namespace forebay::node
