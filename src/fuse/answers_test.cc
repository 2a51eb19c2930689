#include "fuse/answers.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "fuse/serving.h"

namespace forebay::fuse {
namespace {

TEST(Answers, AttributesAreReadOnlyOnesWithExactTimes) {
  Attributes file{
      .node = 9, .type = FileType::kFile, .size = 1025, .mtime_ns = 5'000'000'007};
  fuse_attr attr = KernelAttributes(file, {.user = 3, .group = 4});
  EXPECT_EQ(attr.mode, S_IFREG | 0444);
  EXPECT_EQ(attr.blocks, 3);
  EXPECT_EQ(attr.mtime, 5);
  EXPECT_EQ(attr.mtimensec, 7);
  EXPECT_EQ(attr.uid, 3);
  EXPECT_EQ(attr.gid, 4);
  Attributes early{.node = 9, .type = FileType::kDirectory, .mtime_ns = -1};
  attr = KernelAttributes(early, {});
  EXPECT_EQ(static_cast<int64_t>(attr.mtime), -1);
  EXPECT_EQ(attr.mtimensec, 999'999'999);
  EXPECT_EQ(attr.mode, S_IFDIR | 0555);
}

TEST(Answers, ADirectoryAnswerHoldsWholeEntriesOnly) {
  for (bool plus : {false, true}) {
    DirectoryAnswer answer(4096, plus);
    int added = 0;
    while (answer.Add({.name = "a name", .node = 7, .next = 1}, nullptr)) ++added;
    size_t head = plus ? FUSE_NAME_OFFSET_DIRENTPLUS : FUSE_NAME_OFFSET;
    size_t size = FUSE_DIRENT_ALIGN(head + 6);
    EXPECT_EQ(added, static_cast<int>(4096 / size));
    EXPECT_EQ(answer.bytes().size(), static_cast<size_t>(added) * size);
  }
}

TEST(Answers, FailuresAreErrnosThatReadersKnow) {
  EXPECT_EQ(ErrnoOf(Status::Changed("")), ESTALE);
  EXPECT_EQ(ErrnoOf(Status::NotFound("")), ESTALE);
  EXPECT_EQ(ErrnoOf(Status::Permission("")), EACCES);
  EXPECT_EQ(ErrnoOf(Status::Deadline("")), ETIMEDOUT);
  EXPECT_EQ(ErrnoOf(Status::Unavailable("")), EIO);
  EXPECT_EQ(ErrnoOf(Status::OK()), 0);
}

}  // namespace
}  // namespace forebay::fuse
