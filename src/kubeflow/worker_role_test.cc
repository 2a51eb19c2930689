#include "kubeflow/worker_role.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

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
            fmt::format("mem:{}B", SplitMemory(8 * kGiB).store));
  EXPECT_EQ(After(*command, "--borrowed-memory"),
            fmt::format("{}B", SplitMemory(8 * kGiB).borrowed));
  settings.memory = "3GiB";
  command = NodeCommand(settings, {.memory_limit = 8 * kGiB});
  EXPECT_EQ(After(*command, "--store"), fmt::format("mem:{}B", 3 * kGiB));
  settings.memory = "3";
  EXPECT_EQ(NodeCommand(settings, {.memory_limit = 8 * kGiB}).status().message(),
            "3 what? write 3GiB");
  settings.memory = "much";
  EXPECT_FALSE(NodeCommand(settings, {.memory_limit = 8 * kGiB}).ok());
}

TEST(SplitMemory, LeavesRoomWithinTheLimit) {
  for (uint64_t limit : {256 * kMiB, kGiB, 2 * kGiB, 16 * kGiB, 256 * kGiB}) {
    MemorySplit split = SplitMemory(limit);
    EXPECT_LT(split.store + split.fill + split.borrowed, limit) << limit;
    EXPECT_GE(split.store, limit / 2) << limit;
  }
  EXPECT_GE(SplitMemory(64 * kGiB).store, 55 * kGiB);
}

TEST(OwnAddressTowards, TheLoopbackIsTheLoopback) {
  EXPECT_EQ(*OwnAddressTowards("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(OwnAddressTowards("no.such.host.invalid").status().code(),
            StatusCode::kUnavailable);
}

}  // namespace
}  // namespace forebay::kubeflow
