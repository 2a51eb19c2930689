#include "node/member.h"

#include <gtest/gtest.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>

#include "base/size.h"
#include "plan/placement.h"

namespace forebay::node {
namespace {

TEST(WeightOf, GrowsWithTheStoreAndIsNeverNothing) {
  EXPECT_DOUBLE_EQ(WeightOf(3 * kGiB), 3.0);
  EXPECT_DOUBLE_EQ(WeightOf(kGiB / 2), 0.5);
  EXPECT_DOUBLE_EQ(WeightOf(0), 0.001);
}

TEST(WeightOf, AStoreWithoutAQuotaIsWhatItsDiskHasRoomFor) {
  auto folder = std::filesystem::temp_directory_path() /
                ("forebay-weight-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  storage::StoreOptions options;
  options.tiers =
      storage::TiersOf(*model::ParseStoreSpec("ssd:" + (folder / "store").string()));
  options.tiers[0].free_floor_bytes = 0;
  auto store = storage::Store::Open(std::move(options));
  ASSERT_TRUE(store.ok()) << store.status();
  struct statvfs disk;
  ASSERT_EQ(::statvfs(folder.c_str(), &disk), 0);
  double free_gib = static_cast<double>(disk.f_bavail * disk.f_frsize) / kGiB;
  double weight = WeightOf((*store)->CapacityBytes());
  EXPECT_NEAR(weight, free_gib, 0.5);  // others write to this disk too
  std::filesystem::remove_all(folder);

  // Beside a node with a quota of a tenth of that it owns about ten of eleven units.
  std::vector<plan::PlacementMember> members = {
      {.id = plan::MemberHash("no quota"), .weight = weight},
      {.id = plan::MemberHash("quota"), .weight = weight / 10}};
  auto placement = plan::Placement::Make(members, 1);
  ASSERT_TRUE(placement.ok()) << placement.status();
  int owned = 0;
  for (int i = 0; i < 1000; ++i) {
    owned += placement->Owns(HashBytes(std::to_string(i)), 0) ? 1 : 0;
  }
  EXPECT_NEAR(owned, 909, 50);
}

}  // namespace
}  // namespace forebay::node
