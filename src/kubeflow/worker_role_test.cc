#include "kubeflow/worker_role.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/size.h"
#include "kubeflow/memory.h"
#include "kubeflow/own_address.h"

namespace forebay::kubeflow {
namespace {

std::string After(const std::vector<std::string>& command, const std::string& option) {
  auto found = std::ranges::find(command, option);
  return found == command.end() ? "" : *(found + 1);
}

TEST(NodeCommand, NamesHeadAddressAndMemory) {
  Settings settings{.role = Role::kWorker, .host = "0.0.0.0", .port = 50051};
  settings.leader = "leader";
  settings.worker_id = "worker-2";
  auto command = NodeCommand(settings, {.binary = "/bin/node",
                                        .own_address = "fd00::7",
                                        .folder = "/tmp/x",
                                        .memory_limit = 8 * kGiB});
  ASSERT_TRUE(command.ok());
  EXPECT_EQ(command->front(), "/bin/node");
  EXPECT_EQ(After(*command, "--flight"), "0.0.0.0:50051");
  EXPECT_EQ(After(*command, "--advertise"), "[fd00::7]:50051");
  EXPECT_EQ(After(*command, "--head"), "leader:7070");
  EXPECT_EQ(After(*command, "--id"), "worker-2");
  EXPECT_EQ(After(*command, "--weight"), "1");
  EXPECT_EQ(After(*command, "--store"),
            "mem:" + std::to_string(SplitMemory(8 * kGiB).store));
  settings.memory = "3GiB";
  command = NodeCommand(settings, {.memory_limit = 8 * kGiB});
  EXPECT_EQ(After(*command, "--store"), "mem:" + std::to_string(3 * kGiB));
  settings.memory = "much";
  EXPECT_FALSE(NodeCommand(settings, {.memory_limit = 8 * kGiB}).ok());
}

TEST(SplitMemory, LeavesRoomWithinTheLimit) {
  for (uint64_t limit : {256 * kMiB, kGiB, 2 * kGiB, 16 * kGiB, 256 * kGiB}) {
    MemorySplit split = SplitMemory(limit);
    EXPECT_LT(split.store + split.fill, limit) << limit;
    EXPECT_GE(split.store, limit / 2) << limit;
  }
  EXPECT_GE(SplitMemory(64 * kGiB).store, 55 * kGiB);
}

TEST(MemoryLimit, IsTheCgroupsWhereItHasOne) {
  auto root = std::filesystem::temp_directory_path() / "forebay-memory-test/";
  std::filesystem::remove_all(root);
  std::filesystem::create_directories(root / "proc");
  std::filesystem::create_directories(root / "sys/fs/cgroup");
  std::ofstream(root / "proc/meminfo") << "MemFree: 5 kB\nMemTotal:  1048576 kB\n";
  EXPECT_EQ(MemoryLimit(root), kGiB);
  std::ofstream(root / "sys/fs/cgroup/memory.max") << "max\n";
  EXPECT_EQ(MemoryLimit(root), kGiB);
  std::ofstream(root / "sys/fs/cgroup/memory.max") << "536870912\n";
  EXPECT_EQ(MemoryLimit(root), 512 * kMiB);
  std::filesystem::remove_all(root);
}

TEST(OwnAddressTowards, TheLoopbackIsTheLoopback) {
  EXPECT_EQ(*OwnAddressTowards("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(OwnAddressTowards("no.such.host.invalid").status().code(),
            StatusCode::kUnavailable);
}

}  // namespace
}  // namespace forebay::kubeflow
