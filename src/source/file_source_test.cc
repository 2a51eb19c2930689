#include "source/file_source.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <thread>

#include "source/identity.h"
#include "support/servers.h"

namespace forebay::source {
namespace {

using testing_support::TempFolder;
using testing_support::WriteFile;

struct FileSourceTest : testing::Test {
  std::vector<std::string> List(const std::string& path) {
    Result<std::vector<model::Object>> objects = source.List(path, Deadline::Never());
    std::vector<std::string> uris;
    EXPECT_TRUE(objects.ok()) << objects.status();
    if (!objects.ok()) return uris;
    for (const model::Object& object : *objects) uris.push_back(object.uri);
    return uris;
  }
  std::string Uri(const std::string& name) { return "file://" + root + "/" + name; }

  TempFolder folder;
  std::string root = folder.path();
  FileSource source;
};

// Runs on a thread that is nobody, so that modes count even when the tests run as root.
Status AsNobody(const std::function<Status()>& call) {
  if (::geteuid() != 0) return call();
  Status status;
  std::thread([&] {
    if (::syscall(SYS_setresuid, -1, 65534, -1) != 0) return;
    status = call();
  }).join();
  return status;
}

TEST_F(FileSourceTest, FollowsLinksAndEndsAtLoops) {
  WriteFile(root + "/data/a", "a");
  WriteFile(root + "/elsewhere/b", "b");
  std::filesystem::create_directory_symlink(root + "/elsewhere", root + "/data/link");
  std::filesystem::create_directory_symlink(root + "/data", root + "/data/loop");
  std::filesystem::create_symlink("self", root + "/data/self");
  EXPECT_EQ(List(root + "/data"), (std::vector{Uri("data/a"), Uri("data/link/b")}));
}

TEST_F(FileSourceTest, NamesABrokenLink) {
  WriteFile(root + "/a", "a");
  std::filesystem::create_symlink(root + "/nowhere", root + "/broken");
  Status status = source.List(root, Deadline::Never()).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(status.message().find("/broken"), std::string::npos) << status;
}

TEST_F(FileSourceTest, ATreeKeepsLinksWhereverTheyLeadAndEmptyFolders) {
  WriteFile(root + "/data/a", "a");
  std::filesystem::create_directories(root + "/data/empty/inner");
  std::map<std::string, std::string> links = {{"above", ".."},
                                              {"file", "a"},
                                              {"nowhere", "no"},
                                              {"out", "/etc"},
                                              {"self", "self"}};
  for (const auto& [name, target] : links) {
    std::filesystem::create_symlink(target, root + "/data/" + name);
  }
  std::filesystem::create_directory_symlink("data", root + "/root");
  Tree tree = source.ListTree(root + "/root", Deadline::Never()).ValueOrDie();
  ASSERT_EQ(tree.objects.size(), 1);
  EXPECT_EQ(tree.objects[0].uri, Uri("root/a"));
  EXPECT_EQ(tree.empty_folders, std::vector{Uri("root/empty/inner")});
  std::map<std::string, std::string> kept;
  for (const Link& link : tree.links) {
    kept[link.uri.substr(Uri("root/").size())] = link.target;
    EXPECT_GT(link.mtime_ns, 0);
  }
  EXPECT_EQ(kept, links);
}

TEST_F(FileSourceTest, ATreeFollowsLinksWhenToldTo) {
  WriteFile(root + "/data/a", "a");
  WriteFile(root + "/elsewhere/b", "b");
  std::filesystem::create_directory_symlink(root + "/elsewhere", root + "/data/link");
  auto follows = OpenSource(Uri("data"), {{"file.links", "follow"}}).ValueOrDie();
  Tree tree = follows->ListTree(Uri("data"), Deadline::Never()).ValueOrDie();
  EXPECT_EQ(tree.links.size(), 0);
  ASSERT_EQ(tree.objects.size(), 2);
  EXPECT_EQ(tree.objects[1].uri, Uri("data/link/b"));
  EXPECT_FALSE(OpenSource(Uri("data"), {{"file.links", "perhaps"}}).ok());
  EXPECT_FALSE(OpenSource(Uri("data"), {{"file.link", "keep"}}).ok());
}

TEST_F(FileSourceTest, TellsNoPermissionFromNotThere) {
  ::chmod(root.c_str(), 0755);
  WriteFile(root + "/closed/file", "x");
  WriteFile(root + "/secret", "x");
  Result<model::Object> secret = source.Stat(root + "/secret", Deadline::Never());
  ASSERT_TRUE(secret.ok());
  ::chmod((root + "/secret").c_str(), 0);
  // chmod moved ctime; what is read must be what is pinned.
  secret = source.Stat(root + "/secret", Deadline::Never());
  ::chmod((root + "/closed").c_str(), 0);
  Status listed = AsNobody([&] { return source.List(root, Deadline::Never()).status(); });
  EXPECT_EQ(listed.code(), StatusCode::kPermission) << listed;
  EXPECT_NE(listed.message().find("/closed"), std::string::npos) << listed;
  Status asked = AsNobody(
      [&] { return source.Stat(root + "/closed/file", Deadline::Never()).status(); });
  EXPECT_EQ(asked.code(), StatusCode::kPermission) << asked;
  Status read = AsNobody([&] {
    std::byte byte;
    return source.Read(*secret, 0, {&byte, 1}, Deadline::Never());
  });
  EXPECT_EQ(read.code(), StatusCode::kPermission) << read;
  ::chmod((root + "/closed").c_str(), 0755);
}

TEST_F(FileSourceTest, SaysThatAnEmptyFolderHoldsNothing) {
  EXPECT_EQ(source.List(root, Deadline::Never()).status().code(), StatusCode::kNotFound);
}

TEST_F(FileSourceTest, NoticesAWriteInPlace) {
  WriteFile(root + "/a", "0123456789");
  Result<model::Object> object = source.Stat(root + "/a", Deadline::Never());
  ASSERT_TRUE(object.ok());
  ASSERT_TRUE(WaitUntilSettled({*object}, Clock::Real(), Deadline::Never()).ok());
  WriteFile(root + "/a", "abcdefghij");
  std::byte byte;
  EXPECT_EQ(source.Read(*object, 0, {&byte, 1}, Deadline::Never()).code(),
            StatusCode::kChanged);
}

TEST_F(FileSourceTest, DoesNotHangOnAFifoThatTookTheFilesPlace) {
  WriteFile(root + "/a", "0123456789");
  Result<model::Object> object = source.Stat(root + "/a", Deadline::Never());
  ASSERT_TRUE(object.ok());
  std::filesystem::remove(root + "/a");
  ASSERT_EQ(::mkfifo((root + "/a").c_str(), 0600), 0);
  std::byte byte;
  EXPECT_EQ(source.Read(*object, 0, {&byte, 1}, Deadline::Never()).code(),
            StatusCode::kChanged);
  EXPECT_EQ(source.Stat(root + "/a", Deadline::Never()).status().code(),
            StatusCode::kNotFound);
}

model::Object Changed(int64_t ctime_ns, std::string etag = "") {
  model::Object object{"file:///x", {}};
  object.identity.ctime_ns = ctime_ns;
  object.identity.etag = std::move(etag);
  return object;
}

TEST(WaitUntilSettled, WaitsForTheYoungestObjectWithoutAnEtag) {
  FakeClock clock;
  int64_t now = clock.WallNanos();
  auto wait = [&](const model::Object& object) {
    return WaitUntilSettled({object}, clock, Deadline::After(milliseconds(60))).code();
  };
  EXPECT_EQ(wait(Changed(now)), StatusCode::kDeadline);
  EXPECT_EQ(wait(Changed(now - 1'900'000'000)), StatusCode::kDeadline);
  EXPECT_EQ(wait(Changed(now - 2'000'000'000)), StatusCode::kOk);
  EXPECT_EQ(wait(Changed(now, "etag")), StatusCode::kOk);
}

TEST(WaitUntilSettled, EndsWhenTheClockMovesOn) {
  FakeClock clock;
  // Another host's clock may be ahead: that object is as young as can be, no younger.
  model::Object object = Changed(clock.WallNanos() + 3'600'000'000'000);
  // Moves until the wait has ended: it must not matter which thread looks first.
  std::atomic<bool> ended{false};
  std::thread mover([&] {
    while (!ended) {
      clock.Advance(milliseconds(100));
      std::this_thread::yield();
    }
  });
  Status status = WaitUntilSettled({object}, clock, Deadline::After(milliseconds(5000)));
  ended = true;
  mover.join();
  EXPECT_EQ(status, Status::OK());
}

}  // namespace
}  // namespace forebay::source
