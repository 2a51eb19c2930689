#include "model/store_spec.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/size.h"

namespace forebay::model {
namespace {

std::string Formatted(std::string_view text) {
  auto tiers = ParseStoreSpec(text);
  return tiers.ok() ? FormatStoreSpec(*tiers) : tiers.status().message();
}

TEST(StoreSpec, ReadsTiersInOrder) {
  auto tiers = ParseStoreSpec("mem:4GiB,ssd:/var/cache/forebay:100GiB,nfs:/mnt/team");
  ASSERT_TRUE(tiers.ok()) << tiers.status();
  std::vector<TierSpec> expected = {
      {.medium = Medium::kMem, .path = "", .quota_bytes = 4 * kGiB},
      {.medium = Medium::kSsd, .path = "/var/cache/forebay", .quota_bytes = 100 * kGiB},
      {.medium = Medium::kNfs, .path = "/mnt/team", .quota_bytes = 0}};
  EXPECT_EQ(*tiers, expected);
}

TEST(StoreSpec, TakesAMemoryTierWithADirectory) {
  auto tiers = ParseStoreSpec("mem:/dev/shm/forebay:1KiB");
  ASSERT_TRUE(tiers.ok()) << tiers.status();
  EXPECT_EQ(tiers->front().path, "/dev/shm/forebay");
  EXPECT_EQ(tiers->front().quota_bytes, kKiB);
}

TEST(StoreSpec, SpellsOneStoreOneWay) {
  EXPECT_EQ(Formatted("ssd:/a//b/../c/:1K"), "ssd:/a/c:1024B");
  EXPECT_EQ(Formatted("ssd:./x"),
            "ssd:" + (std::filesystem::current_path() / "x").string());
  ASSERT_NE(std::getenv("HOME"), nullptr);
  EXPECT_EQ(Formatted("hdd:~/x"),
            "hdd:" + (std::filesystem::path(std::getenv("HOME")) / "x").string());
  EXPECT_EQ(Formatted("ssd:/"), "ssd:/");
  for (const char* text : {"mem:1048576B", "mem:1048576B,ssd:/a,hdd:/b:4096B",
                           "ssd:/a:50%", "ssd:/a:100%,nfs:/b:1%"}) {
    EXPECT_EQ(Formatted(text), text);
  }
}

TEST(StoreSpec, SaysWhatIsWrongAndHowToWriteIt) {
  const std::pair<const char*, const char*> kTable[] = {
      {"", "the store is empty"},
      {"/var/cache", "not a tier: '/var/cache'"},
      {"mem:1G,,ssd:/x", "not a tier: ''"},
      {"tape:/x", "not a tier: 'tape:/x'"},
      {"mem", "tier 'mem' needs a size"},
      {"mem:lots", "tier 'mem:lots' has no size: not a size: 'lots'"},
      {"mem:4", "tier 'mem:4' has no size: 4 what? write 4GiB;"},
      {"ssd:/x:20", "tier 'ssd:/x:20' has no size: 20 what? write 20GiB;"},
      {"ssd:/x:0%", "tier 'ssd:/x:0%' has no share from 1% to 100%"},
      {"ssd:/x:101%", "tier 'ssd:/x:101%' has no share from 1% to 100%"},
      {"ssd:/x:5.5%", "tier 'ssd:/x:5.5%' has no share from 1% to 100%"},
      {"ssd:/x:%", "tier 'ssd:/x:%' has no share from 1% to 100%"},
      {"mem:50%", "tier 'mem:50%' is memory, which takes a size"},
      {"mem:0", "tier 'mem:0' has a size of zero"},
      {"ssd:/x:0", "tier 'ssd:/x:0' has a size of zero"},
      {"ssd:cache:1G", "tier 'ssd:cache:1G' has no size: not a size: 'cache:1G'"},
      {"ssd:10GiB", "tier 'ssd:10GiB' names no directory"}};
  for (auto [text, message] : kTable) {
    auto tiers = ParseStoreSpec(text);
    ASSERT_FALSE(tiers.ok()) << text;
    EXPECT_EQ(tiers.status().code(), StatusCode::kInvalid);
    EXPECT_TRUE(tiers.status().message().starts_with(message)) << tiers.status();
    EXPECT_TRUE(
        tiers.status().message().ends_with("mem:4GiB,ssd:/var/cache/forebay:100GiB"));
  }
}

TEST(StoreSpec, TakesAShareOfADisk) {
  auto tiers = ParseStoreSpec("ssd:/x:25%");
  ASSERT_TRUE(tiers.ok()) << tiers.status();
  EXPECT_EQ(tiers->front().quota_percent, 25U);
  EXPECT_EQ(tiers->front().quota_bytes, 0U);
}

TEST(StoreWarnings, SayHowMuchMemoryThereIs) {
  auto warnings = [](std::string_view store) {
    return StoreWarnings(*ParseStoreSpec(store), 23 * kGiB);
  };
  EXPECT_EQ(
      warnings("mem:900GiB"),
      std::vector<std::string>{
          "the store has a memory tier of 900.0 GiB, and this machine has 23.0 GiB of "
          "memory; give it less, or what trains here will be killed for want of memory"});
  EXPECT_EQ(warnings("mem:/dev/shm/forebay:24GiB").size(), 1U);
  EXPECT_TRUE(warnings("mem:23GiB,ssd:/x:900GiB").empty());
}

TEST(StoreSpec, RefusesOneDirectoryTwice) {
  EXPECT_EQ(Formatted("ssd:/x,hdd:/x/."), "the store names '/x' twice");
  EXPECT_EQ(Formatted("mem:1G,mem:2G"), "the store names 'mem' twice");
}

}  // namespace
}  // namespace forebay::model
