#include "kubeflow/loading.h"

#include <gtest/gtest.h>

#include "support/no_threads.h"

namespace forebay::kubeflow {
namespace {

TEST(Loading, AtTheLimitOfThreadsSaysSo) {
  testing_support::NoThreads limit;
  auto loading = Loading::Start({});  // only the thread would use the head
  EXPECT_EQ(loading.status().code(), StatusCode::kFull);
  EXPECT_NE(loading.status().message().find("ulimit -u"), std::string::npos);
}

}  // namespace
}  // namespace forebay::kubeflow
