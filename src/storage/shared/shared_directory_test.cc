#include "storage/shared/shared_directory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "storage/shared/shared_files.h"

namespace forebay::storage {
namespace {

namespace fs = std::filesystem;
constexpr int kCannotTry = 77;

class SharedDirectoryTest : public testing::Test {
 protected:
  SharedDirectoryTest() {
    std::string pattern = (fs::temp_directory_path() / "forebay-shared-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    fs::create_directory(root_ + "/memory");
  }
  ~SharedDirectoryTest() override { RemoveTree(root_); }

  std::unique_ptr<SharedDirectory> Open(bool remember = false) {
    return SharedDirectory::Open(
               {.path = root_ + "/shared",
                .create = true,
                .memory = remember ? root_ + "/memory" : "",
                .room =
                    [this](const std::string&) {
                      return Result<SharedRoom>(
                          {.free_bytes = free_bytes_, .total_bytes = 2000});
                    }})
        .ValueOrDie();
  }
  SharedDirectory::Content Content(uint64_t id, const std::string& text) {
    return {.key = {id, id},
            .file_name = "model.bin",
            .dataset = "s3://b/models",
            .size = text.size(),
            .write = [this, text](int fd) {
              ++written_;
              bool whole = ::write(fd, text.data(), text.size()) ==
                           static_cast<ssize_t>(text.size());
              return whole ? Status::OK() : Status::Full("no room");
            }};
  }
  SharedEntry Bring(SharedDirectory& shared, uint64_t id, const std::string& text) {
    return shared.Bring(Content(id, text), Deadline::After(std::chrono::seconds(30)))
        .ValueOrDie();
  }
  static std::string Read(const SharedEntry& entry) {
    std::ifstream file(entry.file_path());
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  void SetUsed(const SharedEntry& entry, int64_t seconds_ago) {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec -= seconds_ago;
    timespec times[2] = {now, now};
    ::utimensat(AT_FDCWD, (entry.folder + "/used").c_str(), times, 0);
  }

  std::string root_;
  uint64_t free_bytes_ = 2000;
  std::atomic<int> written_{0};
};

TEST_F(SharedDirectoryTest, KeepsAFileWholeAndReadOnly) {
  auto shared = Open();
  SharedEntry entry = Bring(*shared, 1, "weights");
  EXPECT_EQ(Read(entry), "weights");
  EXPECT_TRUE(entry.file_path().ends_with("/model.bin"));
  struct stat st {};
  ASSERT_EQ(::stat(entry.file_path().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0444U);
  EXPECT_EQ(Bring(*Open(), 1, "weights").folder, entry.folder);
  EXPECT_EQ(written_, 1);
  EXPECT_TRUE(fs::is_empty(root_ + "/shared/tmp"));
  EXPECT_TRUE(fs::is_empty(root_ + "/shared/locks"));
}

TEST_F(SharedDirectoryTest, KeepsOldAndNewVersionsApart) {
  auto shared = Open();
  SharedEntry old = Bring(*shared, 1, "old");
  SharedEntry fresh = Bring(*shared, 2, "new");
  EXPECT_EQ(Read(old), "old");
  EXPECT_EQ(Read(fresh), "new");
}

TEST_F(SharedDirectoryTest, FindsOutWhatSomebodyChanged) {
  for (bool remember : {false, true}) {
    auto shared = Open(remember);
    SharedEntry entry = Bring(*shared, 7, "right");
    ASSERT_EQ(::chmod(entry.file_path().c_str(), 0644), 0);
    std::ofstream(entry.file_path()) << "wrong";
    EXPECT_EQ(shared->Find({7, 7}).status().code(), StatusCode::kNotFound);
    EXPECT_EQ(Read(Bring(*shared, 7, "right")), "right");
  }
}

TEST_F(SharedDirectoryTest, LeavesNothingWhenTheSourceFails) {
  auto shared = Open();
  auto content = Content(1, "x");
  content.write = [](int) { return Status::Changed("the object was overwritten"); };
  auto failed = shared->Bring(content, Deadline::After(std::chrono::seconds(9)));
  EXPECT_EQ(failed.status().code(), StatusCode::kChanged);
  EXPECT_TRUE(fs::is_empty(root_ + "/shared/tmp"));
  EXPECT_EQ(Read(Bring(*shared, 1, "x")), "x");
}

TEST_F(SharedDirectoryTest, TakesWhatAnotherHostPublishedFirst) {
  auto shared = Open();
  auto other = Open();
  auto content = Content(1, "same");
  // While this one downloads, the other publishes: as when locks lie.
  content.write = [&](int fd) {
    fs::remove_all(root_ + "/shared/locks");
    Bring(*other, 1, "same");
    return Content(1, "same").write(fd);
  };
  SharedEntry entry =
      shared->Bring(content, Deadline::After(std::chrono::seconds(9))).ValueOrDie();
  EXPECT_EQ(Read(entry), "same");
  EXPECT_EQ(written_, 2);
  EXPECT_EQ(shared->List().ValueOrDie().size(), 1);
  EXPECT_TRUE(fs::is_empty(root_ + "/shared/tmp"));
}

TEST_F(SharedDirectoryTest, DownloadsOnceForManyThreads) {
  auto shared = Open();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (uint64_t id = 1; id <= 20; ++id) {
        EXPECT_EQ(Read(Bring(*shared, id, std::to_string(id))), std::to_string(id));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(written_, 20);
}

TEST_F(SharedDirectoryTest, MakesRoomByLeastRecentUse) {
  auto shared = Open();
  std::vector<SharedEntry> entries;
  for (uint64_t id = 0; id < 6; ++id) {
    entries.push_back(Bring(*shared, id + 1, std::string(100, 'x')));
    SetUsed(entries.back(), 10'000 - static_cast<int64_t>(id) * 1000);
  }
  ASSERT_TRUE(shared->Pin(entries[0], true).ok());
  shared->NoteUse(entries[1]);  // just now
  free_bytes_ = 1000;
  SharedDirectory::CollectOptions options{.keep_free_bytes = 1200};
  auto collected = shared->Collect(options).ValueOrDie();
  EXPECT_EQ(collected.files, 2);
  EXPECT_EQ(collected.bytes, 200);
  std::vector<bool> left;
  for (const auto& entry : entries) left.push_back(fs::exists(entry.file_path()));
  EXPECT_EQ(left, (std::vector<bool>{true, true, false, false, true, true}));
  // For hosts that read them they are in the trash for a while; they count as free.
  EXPECT_EQ(ListFolder(root_ + "/shared/trash").ValueOrDie().size(), 2);
  EXPECT_EQ(shared->Collect(options).ValueOrDie().files, 0);
  options.keep_free_bytes = 0;
  EXPECT_EQ(shared->Collect(options).ValueOrDie().trash_removed, 0);
  options.grace = milliseconds(-1000);
  EXPECT_EQ(shared->Collect(options).ValueOrDie().trash_removed, 2);
  EXPECT_TRUE(fs::is_empty(root_ + "/shared/trash"));
}

TEST_F(SharedDirectoryTest, LeavesWhatIsOpenOnThisHost) {
  auto shared = Open();
  SharedEntry entry = Bring(*shared, 1, "weights");
  SetUsed(entry, 10'000);
  free_bytes_ = 0;
  SharedDirectory::CollectOptions options{.keep_free_bytes = 1};
  {
    std::ifstream reading(entry.file_path());
    EXPECT_EQ(shared->Collect(options).ValueOrDie().files, 0);
    EXPECT_TRUE(fs::exists(entry.file_path()));
  }
  EXPECT_EQ(shared->Collect(options).ValueOrDie().files, 1);
}

TEST_F(SharedDirectoryTest, MakesRoomByItselfWhenThereIsLittle) {
  SharedEntry old = Bring(*Open(), 1, std::string(100, 'x'));
  SetUsed(old, 10'000);
  free_bytes_ = 250;  // 150 are left, and a twentieth is 100
  Bring(*Open(), 2, std::string(100, 'y'));
  EXPECT_TRUE(fs::exists(old.file_path()));
  free_bytes_ = 150;
  Bring(*Open(), 3, std::string(100, 'z'));
  EXPECT_FALSE(fs::exists(old.file_path()));
}

TEST_F(SharedDirectoryTest, GivesWhatItMakesThePermissionsOfTheDirectory) {
  fs::create_directory(root_ + "/shared");
  ASSERT_EQ(::chmod((root_ + "/shared").c_str(), 02775), 0);
  SharedEntry entry = Bring(*Open(), 1, "weights");
  auto mode = [](const std::string& path) {
    struct stat st {};
    EXPECT_EQ(::stat(path.c_str(), &st), 0) << path;
    return st.st_mode & 07777;
  };
  for (const char* name : {"/files", "/tmp", "/trash", "/locks", "/listings"}) {
    EXPECT_EQ(mode(root_ + "/shared" + name), 02775U) << name;
  }
  EXPECT_EQ(mode(entry.folder), 02775U);
  EXPECT_EQ(mode(entry.folder + "/used"), 0664U);
  EXPECT_EQ(mode(entry.file_path()), 0444U);
}

TEST_F(SharedDirectoryTest, WaitsForNobodyWhereAPipeLies) {
  auto shared = Open();
  SharedEntry entry = Bring(*shared, 1, "weights");
  fs::remove(entry.folder + "/dataset");
  ASSERT_EQ(::mkfifo((entry.folder + "/dataset").c_str(), 0666), 0);
  EXPECT_EQ(shared->List().ValueOrDie().at(0).dataset, "");
}

TEST_F(SharedDirectoryTest, SweepsWhatDeadWritersLeft) {
  auto shared = Open();
  fs::create_directories(root_ + "/shared/tmp/dead/content");
  std::ofstream(root_ + "/shared/tmp/dead/content/x") << "half";
  EXPECT_EQ(shared->Collect({}).ValueOrDie().temp_removed, 0);
  SharedDirectory::CollectOptions later{.debris = milliseconds(-1000)};
  EXPECT_EQ(shared->Collect(later).ValueOrDie().temp_removed, 1);
}

TEST_F(SharedDirectoryTest, KnowsWhetherItHasAllOfSomeFiles) {
  auto shared = Open();
  std::vector<Hash128> keys;
  for (uint64_t id = 1; id <= 20; ++id) {
    Bring(*shared, id, "x");
    keys.push_back({id, id});
  }
  EXPECT_TRUE(shared->HasAll({}));
  EXPECT_TRUE(shared->HasAll(keys));
  keys.insert(keys.begin() + 7, {7, 8});
  EXPECT_FALSE(shared->HasAll(keys));
}

TEST_F(SharedDirectoryTest, KeepsTheListingThatWasSeenLast) {
  auto shared = Open();
  EXPECT_EQ(shared->FindListing({1, 2}).status().code(), StatusCode::kNotFound);
  for (const char* bytes : {"old", "new", "new", ""}) {
    ASSERT_TRUE(shared->KeepListing({1, 2}, bytes).ok());
    EXPECT_EQ(Open()->FindListing({1, 2}).ValueOrDie().bytes, bytes);
  }
  EXPECT_EQ(shared->FindListing({1, 3}).status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(fs::is_empty(root_ + "/shared/tmp"));
}

TEST_F(SharedDirectoryTest, AListingIsSeenAgainWithoutWritingItAgain) {
  auto shared = Open();
  ASSERT_TRUE(shared->KeepListing({1, 2}, "same").ok());
  std::string path = root_ + "/shared/listings/" + Hash128{1, 2}.ToHex();
  timespec times[2] = {{.tv_sec = 1, .tv_nsec = 0}, {.tv_sec = 1, .tv_nsec = 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  struct stat before {
  }, after{};
  ASSERT_EQ(::stat(path.c_str(), &before), 0);
  EXPECT_EQ(shared->FindListing({1, 2}).ValueOrDie().seen_ns, 1'000'000'000);
  ASSERT_TRUE(shared->KeepListing({1, 2}, "same").ok());
  ASSERT_EQ(::stat(path.c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_GT(shared->FindListing({1, 2}).ValueOrDie().seen_ns, 1'000'000'000);
  SharedDirectory::CollectOptions later{.listings = milliseconds(-1000)};
  ASSERT_TRUE(shared->Collect({}).ok());
  EXPECT_TRUE(fs::exists(path));
  ASSERT_TRUE(shared->Collect(later).ok());
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(SharedDirectoryTest, AListingThatRotsIsNone) {
  auto shared = Open();
  ASSERT_TRUE(shared->KeepListing({1, 2}, "right").ok());
  std::string path = root_ + "/shared/listings/" + Hash128{1, 2}.ToHex();
  fs::resize_file(path, fs::file_size(path) - 1);
  EXPECT_EQ(shared->FindListing({1, 2}).status().code(), StatusCode::kCorrupt);
}

TEST_F(SharedDirectoryTest, AListingThatRotsIsWrittenAgain) {
  auto shared = Open();
  std::string path = root_ + "/shared/listings/" + Hash128{1, 2}.ToHex();
  for (const char* rotten : {"righ", "wrong"}) {
    ASSERT_TRUE(shared->KeepListing({1, 2}, "right").ok());
    std::string sum;
    std::getline(std::ifstream(path), sum);
    std::ofstream(path) << sum << "\n" << rotten;
    ASSERT_FALSE(shared->FindListing({1, 2}).ok());
    ASSERT_TRUE(shared->KeepListing({1, 2}, "right").ok());
    EXPECT_EQ(shared->FindListing({1, 2}).ValueOrDie().bytes, "right");
  }
}

// In a file system of its own that is full: 0 when it opens there and can collect.
int OpensWhereAllIsFull(const std::string& path) {
  std::string user = std::to_string(::geteuid());
  std::string group = std::to_string(::getegid());
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return kCannotTry;
  std::ofstream("/proc/self/uid_map") << "0 " + user + " 1";
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/gid_map") << "0 " + group + " 1";
  if (::mount("none", path.c_str(), "tmpfs", 0, "size=1m,nr_inodes=20") != 0) {
    return kCannotTry;
  }
  if (!SharedDirectory::Open({.path = path + "/shared"}).ok()) return 1;
  fs::remove(path + "/shared/listings");  // as an older version made it
  for (int i = 0; std::ofstream(path + "/" + std::to_string(i)).is_open();) ++i;
  if (::mkdir((path + "/more").c_str(), 0777) == 0 || errno != ENOSPC) return kCannotTry;
  auto opened = SharedDirectory::Open({.path = path + "/shared"});
  if (!opened.ok()) return 2;
  return (*opened)->Collect({}).ok() ? 0 : 3;
}

TEST_F(SharedDirectoryTest, OneOfAnOlderVersionOpensWhereTheDiskIsFull) {
  pid_t pid = ::fork();
  if (pid == 0) ::_exit(OpensWhereAllIsFull(root_));
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  if (WEXITSTATUS(status) == kCannotTry) GTEST_SKIP() << "file systems cannot be made";
  EXPECT_EQ(status, 0);
}

TEST_F(SharedDirectoryTest, RefusesAFolderThatHoldsOtherThings) {
  std::ofstream(root_ + "/mine") << "x";
  auto opened = SharedDirectory::Open({.path = root_});
  EXPECT_EQ(opened.status().code(), StatusCode::kInvalid);
  EXPECT_FALSE(SharedDirectory::IsOne(root_));
  Open();
  EXPECT_TRUE(SharedDirectory::IsOne(root_ + "/shared"));
}

TEST_F(SharedDirectoryTest, ReadsNoMoreOfAnotherFolderThanSaysWhatItIs) {
  std::filesystem::create_symlink("/dev/zero", root_ + "/" + kSharedFormat);  // no end
  EXPECT_FALSE(SharedDirectory::IsOne(root_));
}

// Writers are killed at any moment: no wrong file under a final name, ever.
TEST_F(SharedDirectoryTest, StandsWritersThatDie) {
  for (int round = 0; round < 20; ++round) {
    pid_t pid = ::fork();
    if (pid == 0) {
      auto shared = Open();
      for (uint64_t id = 1;; ++id) Bring(*shared, id, std::string(100'000, 'y'));
    }
    std::this_thread::sleep_for(milliseconds(5 + round));
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    for (const SharedEntry& entry : Open()->List().ValueOrDie()) {
      EXPECT_EQ(VerifySharedFile(entry), Status::OK());
    }
  }
}

}  // namespace
}  // namespace forebay::storage
