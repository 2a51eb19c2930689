#include "cli/order.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace forebay::cli {
namespace {

OrderSubject Subject() {
  std::vector<uint64_t> counts = {60, 0, 40};
  OrderSubject subject{.uri = "file:///t", .order = {}, .batch_size = 32, .files = {}};
  subject.order = {.mode = plan::OrderMode::kWindow,
                   .rows = 100,
                   .seed = 7,
                   .epoch = 2,
                   .window_ranges = 4,
                   .layout = plan::RangeLayout::Of(counts)};
  return subject;
}

TEST(Order, ShowsRowsByPosition) {
  EXPECT_EQ(OrderText({7, 12}), "POSITION  ROW\n       0    7\n       1   12\n");
  auto json = OrderJson(Subject(), {7, 12});
  EXPECT_EQ(json["uri"], "file:///t");
  EXPECT_EQ(json["order"], "window");
  EXPECT_EQ(json["ranges"], 2);
  EXPECT_EQ(json["window_ranges"], 4);
  EXPECT_EQ(json["first_rows"], (std::vector<uint64_t>{7, 12}));
}

TEST(Order, ShowsFiguresBesideThoseOfAShuffle) {
  OrderComparison comparison;
  comparison.order = {.rows_looked_at = 100,
                      .mean_displacement = 0.25,
                      .files_per_batch = 3.5,
                      .lag1_correlation = {0.5},
                      .chi_square = 90.25,
                      .chi_square_expected = 81};
  comparison.fisher_yates.mean_displacement = 1.0 / 3;
  std::string text = QualityText(Subject(), comparison);
  EXPECT_NE(text.find("FIGURE                           WINDOW  FISHER-YATES\n"
                      "mean displacement, of the table  0.2500        0.3333\n"
                      "files per batch of 32              3.50          0.00\n"
                      "chi-square, 81 expected            90.2           0.0\n"
                      "lag-1 correlation, tenth 1       0.5000        0.0000\n"),
            std::string::npos)
      << text;
  auto json = QualityJson(Subject(), comparison);
  EXPECT_EQ(json["batch_size"], 32);
  EXPECT_EQ(json["quality"]["files_per_batch"], 3.5);
  EXPECT_EQ(json["quality"]["lag1_correlation"].size(), 10U);
  EXPECT_EQ(json["fisher_yates"]["chi_square"], 0.0);
}

}  // namespace
}  // namespace forebay::cli
