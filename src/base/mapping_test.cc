#include "base/mapping.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace forebay {
namespace {

UniqueFd FileWith(std::string_view text) {
  UniqueFd fd(memfd_create("test", MFD_CLOEXEC));
  EXPECT_EQ(::write(fd.get(), text.data(), text.size()),
            static_cast<ssize_t>(text.size()));
  return fd;
}

TEST(Mapping, OutlivesItsDescriptor) {
  std::shared_ptr<const Mapping> mapping;
  {
    UniqueFd fd = FileWith("hello");
    mapping = *Mapping::Map(fd.get(), 5, Mapping::Mode::kShared);
  }
  EXPECT_EQ(mapping->bytes(), "hello");
}

TEST(Mapping, RefusesMoreThanTheFileHas) {
  UniqueFd fd = FileWith("hello");
  for (auto mode :
       {Mapping::Mode::kShared, Mapping::Mode::kPrivate, Mapping::Mode::kCopy}) {
    EXPECT_EQ(Mapping::Map(fd.get(), 6, mode).status().code(), StatusCode::kCorrupt);
    EXPECT_EQ((*Mapping::Map(fd.get(), 3, mode))->bytes(), "hel");
  }
}

TEST(Mapping, OfNothingIsEmpty) {
  UniqueFd fd = FileWith("");
  EXPECT_EQ((*Mapping::Map(fd.get(), 0, Mapping::Mode::kShared))->size(), 0U);
}

TEST(Mapping, SaysWhenThereIsNoFile) {
  EXPECT_FALSE(Mapping::Map(-1, 5, Mapping::Mode::kShared).ok());
}

TEST(Mapping, KeepsPrivateWritesToItself) {
  UniqueFd fd = FileWith("hello");
  auto shared = *Mapping::Map(fd.get(), 5, Mapping::Mode::kShared);
  auto own = *Mapping::Map(fd.get(), 5, Mapping::Mode::kPrivate);
  const_cast<std::byte*>(own->data())[0] = std::byte{'j'};
  EXPECT_EQ(own->bytes(), "jello");
  EXPECT_EQ(shared->bytes(), "hello");
}

TEST(Mapping, ACopyHasNothingToDoWithItsFile) {
  UniqueFd fd = FileWith("hello");
  auto copy = *Mapping::Map(fd.get(), 5, Mapping::Mode::kCopy);
  ASSERT_EQ(::pwrite(fd.get(), "j", 1, 0), 1);
  EXPECT_EQ(copy->bytes(), "hello");
  const_cast<std::byte*>(copy->data())[4] = std::byte{'!'};
  EXPECT_EQ((*Mapping::Map(fd.get(), 5, Mapping::Mode::kShared))->bytes(), "jello");
}

TEST(Mapping, CopiesLargeFilesWhole) {
  std::string text(5 << 20, 'x');
  for (size_t i = 0; i < text.size(); i += 4096) text[i] = static_cast<char>(i >> 12);
  UniqueFd fd = FileWith(text);
  auto copy = *Mapping::Map(fd.get(), text.size(), Mapping::Mode::kCopy);
  EXPECT_TRUE(copy->bytes() == text);
}

}  // namespace
}  // namespace forebay
