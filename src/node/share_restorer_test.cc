#include "node/share_restorer.h"

#include <gtest/gtest.h>

namespace forebay::node {
namespace {

const char kStatus[] = R"({
  "nodes": [
    {"id": "a", "state": "up", "report": {"versions": [
        {"dataset": "events", "version": "v1", "cached_units": 3},
        {"dataset": "events", "version": "v0", "cached_units": 50}]}},
    {"id": "b", "state": "up", "report": {"versions": [
        {"dataset": "events", "version": "v1", "cached_units": 4}]}},
    {"id": "self", "state": "up", "report": {"versions": [
        {"dataset": "events", "version": "v1", "cached_units": 100}]}},
    {"id": "gone", "state": "down", "report": {"versions": [
        {"dataset": "events", "version": "v1", "cached_units": 1000}]}},
    {"id": "new", "state": "up", "report": {}}],
  "datasets": [
    {"name": "events", "version": "v1", "columns": ["x", "y"], "replicas": 2,
     "units": 16},
    {"name": "others", "version": "v9", "columns": [], "replicas": 1, "units": 5}]})";

TEST(HeldElsewhere, CountsWhatOtherMembersThatAreUpHold) {
  auto held = ParseHeldElsewhere(kStatus, "self");
  ASSERT_TRUE(held.ok()) << held.status();
  ASSERT_EQ(held->size(), 2U);
  const HeldElsewhere& events = (*held)[0];
  HomeDataset wanted{
      .name = "events", .version = "v1", .columns = {"x", "y"}, .replicas = 2};
  EXPECT_EQ(events.dataset, wanted);
  using Units = std::map<std::string, uint64_t>;
  EXPECT_EQ(events.units_held, (Units{{"a", 3}, {"b", 4}}));
  EXPECT_EQ((*held)[1].units_held, Units());
}

TEST(HeldElsewhere, OfAnAnswerThatMakesNoSenseIsAnError) {
  EXPECT_FALSE(ParseHeldElsewhere("", "self").ok());
  EXPECT_FALSE(ParseHeldElsewhere("{}", "self").ok());
  EXPECT_FALSE(ParseHeldElsewhere(R"({"nodes": [], "datasets": [{}]})", "self").ok());
  // A node that reports nonsense holds nothing.
  auto held = ParseHeldElsewhere(
      R"({"nodes": [3, {"id": "a", "state": "up", "report": 7}], "datasets": []})",
      "self");
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_TRUE(held->empty());
}

}  // namespace
}  // namespace forebay::node
