// Bounds what a client may send in one message: Arrow's Flight server lifts gRPC's own
// bound. gRPC still receives a message whole before it refuses it, so memory for the
// largest messages under way is used for a moment.
#pragma once

#include <functional>

namespace forebay::flight {

// Row numbers of a DoExchange are the largest thing a client has to say.
constexpr int kReceivedBytesMax = 16 << 20;

// For FlightServerOptions::builder_hook.
std::function<void(void*)> LimitReceivedMessages();

}  // namespace forebay::flight
