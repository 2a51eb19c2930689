#include "node/read_whole.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <string>

#include "base/unique_fd.h"

namespace forebay::node {
namespace {

TEST(ReadWholeTest, AFileThatIsCutShortIsAnErrorAndNoCrash) {
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC));
  ASSERT_EQ(::write(fd.get(), "0123456789", 10), 10);
  std::string bytes(10, '\0');
  ASSERT_TRUE(ReadWhole(fd.get(), bytes.data(), bytes.size()).ok());
  EXPECT_EQ(bytes, "0123456789");
  ASSERT_EQ(::ftruncate(fd.get(), 5), 0);
  EXPECT_EQ(ReadWhole(fd.get(), bytes.data(), bytes.size()).code(), StatusCode::kInvalid);
}

}  // namespace
}  // namespace forebay::node
