#include "fuse/opened_files.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "fuse/backing_table.h"
#include "support/fake_contents.h"

namespace forebay::fuse {
namespace {

// With a supervisor in a thread that keeps a table and knows no kernel.
class OpenedFilesTest : public ::testing::Test {
 protected:
  OpenedFilesTest() : filesystem_({.names = {""}, .mounted_ns = 0}) {
    filesystem_.Add(0, NextGeneration(nullptr, {{"whole", std::string(100'000, 'x')},
                                                {"packed", "small"}}));
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
    ours_ = std::make_unique<SupervisorLink>(UniqueFd(ends[0]));
    theirs_ = std::make_unique<SupervisorLink>(UniqueFd(ends[1]));
    supervisor_ = std::thread([this] { Supervise(); });
  }
  ~OpenedFilesTest() override {
    ours_.reset();
    supervisor_.join();
  }
  void Supervise() {
    for (;;) {
      auto letter = theirs_->Receive();
      if (!letter.ok()) return;
      const Message& asked = letter->message;
      if (asked.say == Say::kCloseBacking) {
        table_.Close(asked.node, asked.handle);
        continue;
      }
      int fd = letter->fds.empty() ? -1 : letter->fds[0].get();
      int value = asked.flags == 0 ? table_.Find(asked.node, asked.handle)
                                   : table_.Open(asked.node, asked.handle, fd);
      EXPECT_TRUE(theirs_->Send({.say = Say::kDone, .value = value}).ok());
    }
  }
  OpenedFiles Make(Profile profile) {
    return OpenedFiles(
        {.profile = profile, .passthrough = true, .supervisor = ours_.get()});
  }
  Result<kernel::OpenOut> Open(OpenedFiles& files, const char* name, uint64_t unique) {
    Attributes at;
    EXPECT_EQ(filesystem_.Lookup(kRootNode, name, &at), 0);
    node_ = at.node;
    return files.Open(at.node, unique, *filesystem_.FindFile(at.node), Deadline::Never());
  }
  FakeContents& contents() {
    return static_cast<FakeContents&>(*filesystem_.Current(0)->contents);
  }

  Filesystem filesystem_;
  std::unique_ptr<SupervisorLink> ours_, theirs_;
  int next_ = 1;
  BackingTable table_{{.open = [this](int) { return next_++; }, .close = [](int) {}}};
  std::thread supervisor_;
  uint64_t node_ = 0;
};

TEST_F(OpenedFilesTest, AWholeFileIsReadFromTheStoreByTheKernel) {
  OpenedFiles files = Make(Profile::kLarge);
  auto first = Open(files, "whole", 10);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->open_flags, kernel::kOpenPassthrough);
  EXPECT_EQ(first->backing_id, 1);
  EXPECT_EQ(first->fh, 10);
  EXPECT_EQ(Open(files, "packed", 11)->open_flags, uint32_t{FOPEN_KEEP_CACHE});
  EXPECT_EQ(Open(files, "packed", 11)->fh, 0);
}

TEST_F(OpenedFilesTest, WhatIsOpenIsAskedOfNobodyElse) {
  OpenedFiles files = Make(Profile::kLarge);
  ASSERT_TRUE(Open(files, "whole", 10).ok());
  contents().mapped = false;
  EXPECT_EQ(Open(files, "whole", 12)->backing_id, 1);
  EXPECT_EQ(contents().descriptors, 1);
  files.Release(node_, 10);
  files.Release(node_, 12);
  EXPECT_EQ(Open(files, "whole", 14).status().code(), StatusCode::kChanged);
}

TEST_F(OpenedFilesTest, WhatAProcessBeforeUsOpenedIsFoundWithoutItsChunk) {
  OpenedFiles before = Make(Profile::kLarge);
  ASSERT_TRUE(Open(before, "whole", 10).ok());
  contents().mapped = false;
  OpenedFiles after = Make(Profile::kLarge);
  EXPECT_EQ(Open(after, "whole", 12)->backing_id, 1);
}

TEST_F(OpenedFilesTest, AnOpenThatIsSentAgainHasTheSameHandle) {
  OpenedFiles files = Make(Profile::kLarge);
  EXPECT_EQ(Open(files, "whole", 10 | kernel::kUniqueResend)->fh, 10);
}

TEST_F(OpenedFilesTest, AChunkOfAnotherSizeIsReadThroughUs) {
  contents().extra_bytes = 1;
  OpenedFiles files = Make(Profile::kLarge);
  auto opened = Open(files, "whole", 10);
  EXPECT_EQ(opened->open_flags, uint32_t{FOPEN_KEEP_CACHE});
  EXPECT_EQ(opened->backing_id, 0);
}

TEST_F(OpenedFilesTest, OnlyTheLargeProfileIsToldOfOpens) {
  EXPECT_TRUE(Make(Profile::kSmall).without_message());
  EXPECT_FALSE(Make(Profile::kLarge).without_message());
  EXPECT_EQ(ChooseProfile({.files = 100, .whole_bytes = 100 * kMiB}), Profile::kLarge);
  EXPECT_EQ(ChooseProfile({.files = 100, .whole_bytes = 99 * kMiB}), Profile::kSmall);
  EXPECT_EQ(ChooseProfile({.files = 0, .whole_bytes = 0}), Profile::kSmall);
  EXPECT_FALSE(ParseProfile("medium").ok());
}

}  // namespace
}  // namespace forebay::fuse
