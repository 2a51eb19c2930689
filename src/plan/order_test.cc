#include "plan/order.h"

#include <gtest/gtest.h>

#include <vector>

namespace forebay::plan {
namespace {

Order MakeOrder(Order::Options options) { return Order::Make(options).ValueOrDie(); }

TEST(Order, SequentialIsTheIdentity) {
  Order order = MakeOrder({.rows = 10, .seed = 5});
  EXPECT_EQ(order.RowAt(7), 7U);
  EXPECT_EQ(order.PositionOf(7), 7U);
  std::vector<uint64_t> rows(4);
  order.RowsAt(3, rows);
  EXPECT_EQ(rows, (std::vector<uint64_t>{3, 4, 5, 6}));
}

TEST(Order, GlobalMapsPositionsToRowsAndBack) {
  Order order = MakeOrder({.mode = OrderMode::kGlobal, .rows = 5000, .seed = 5});
  std::vector<uint64_t> rows(5000);
  order.RowsAt(0, rows);
  std::vector<uint64_t> back = rows;
  order.ToPositions(back);
  for (uint64_t i = 0; i < 5000; ++i) {
    EXPECT_EQ(back[i], i);
    EXPECT_EQ(order.RowAt(i), rows[i]);
    EXPECT_EQ(order.PositionOf(rows[i]), i);
  }
}

TEST(Order, StartsAgainFromTheFirstRowPastTheEnd) {
  for (OrderMode mode : {OrderMode::kSequential, OrderMode::kGlobal}) {
    Order order = MakeOrder({.mode = mode, .rows = 7, .seed = 5});
    std::vector<uint64_t> rows(30);
    order.RowsAt(5, rows);
    for (uint64_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i], order.RowAt((5 + i) % 7));
    }
  }
}

TEST(Order, HasNothingToSayAboutNoRows) {
  Order order = MakeOrder({.mode = OrderMode::kGlobal, .rows = 0});
  order.RowsAt(0, {});
  order.ToRows({});
}

TEST(Order, RefusesMoreRowsThanItCanPermute) {
  auto order = Order::Make({.mode = OrderMode::kGlobal, .rows = kRowsMax + 1});
  EXPECT_EQ(order.status().code(), StatusCode::kUnsupported);
}

TEST(Order, ModesHaveNames) {
  EXPECT_EQ(*ParseOrderMode("global"), OrderMode::kGlobal);
  EXPECT_EQ(*ParseOrderMode("sequential"), OrderMode::kSequential);
  Status status = ParseOrderMode("random").status();
  EXPECT_EQ(status.code(), StatusCode::kInvalid);
  EXPECT_NE(status.message().find("\"global\""), std::string::npos);
  EXPECT_EQ(*ParseOrderMode("window"), OrderMode::kWindow);
}

}  // namespace
}  // namespace forebay::plan
