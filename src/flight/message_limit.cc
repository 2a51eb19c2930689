#include "flight/message_limit.h"

#include "base/log.h"

namespace forebay::flight {
namespace {

// How grpc::ServerBuilder begins, in every release so far. The wheel that brings Flight
// brings no gRPC headers, and linking another gRPC beside its own would be worse.
struct BuilderHead {
  void* virtual_table;
  int max_receive_message_size;
  int max_send_message_size;
};
constexpr int kUnbounded = -1;  // as Arrow leaves it

}  // namespace

std::function<void(void*)> LimitReceivedMessages() {
  return [](void* builder) {
    auto* head = static_cast<BuilderHead*>(builder);
    if (head->max_receive_message_size != kUnbounded) {
      spdlog::warn("flight: messages of clients are not bounded with this Arrow release");
      return;
    }
    head->max_receive_message_size = kReceivedBytesMax;
  };
}

}  // namespace forebay::flight
