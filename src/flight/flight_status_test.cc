#include "flight/flight_status.h"

#include <gtest/gtest.h>

namespace forebay::flight {
namespace {

TEST(FlightStatus, ComesBackAsItWas) {
  for (int code = 0; code <= static_cast<int>(StatusCode::kInternal); ++code) {
    Status status(static_cast<StatusCode>(code), code == 0 ? "" : "what happened");
    EXPECT_EQ(FromFlight(ToFlight(status)), status);
  }
}

TEST(FlightStatus, LeavesOutWhatGrpcAdds) {
  arrow::Status noisy = arrow::Status::Invalid(
      "what happened. Detail: Failed. gRPC client debug context: UNKNOWN:x");
  EXPECT_EQ(FromFlight(noisy), Status::Invalid("what happened"));
}

}  // namespace
}  // namespace forebay::flight
