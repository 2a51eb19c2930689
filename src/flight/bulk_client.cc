#include "flight/bulk_client.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/bytes.h"

namespace forebay::flight {
namespace {

// Stays in a core's cache between the kernel, the hash and the store.
constexpr size_t kBufferBytes = size_t{1} << 20;
// A port that a firewall hides does not answer at all; Flight is the way then.
constexpr milliseconds kConnectTime = std::chrono::seconds(2);
constexpr size_t kFailureBytesMax = 64 * 1024;

struct alignas(64) ReceiveBuffer {
  char bytes[kBufferBytes];
};

// One request's answer, as it arrives.
class Answer {
 public:
  Answer(BulkSocket* socket, ChunkSink* sink, BulkSocket::Patience patience)
      : socket_(socket),
        sink_(sink),
        patience_(std::move(patience)),
        buffer_(std::make_unique_for_overwrite<ReceiveBuffer>()) {}

  Status Receive(size_t count) {
    for (uint32_t index = 0;; ++index) {
      FB_ASSIGN_OR_RETURN(BulkHeader header, Header());
      if (header.kind == BulkHeader::Kind::kFailure) return Failure(header);
      bool last = index == count;
      bool right = last
                       ? header.kind == BulkHeader::Kind::kEnd
                       : header.kind == BulkHeader::Kind::kChunk && header.index == index;
      if (!right)
        return Status::Corrupt("a peer sent other chunks than it was asked for");
      if (last) return Status::OK();
      FB_RETURN_NOT_OK(Chunk(header));
    }
  }
  // The peer's own word that it cannot: the connection is as good as before.
  bool refused() const { return refused_; }
  // Nothing has come yet.
  bool silent() const { return !begun_; }

 private:
  // The next one that says more than that the peer is at it.
  Result<BulkHeader> Header() {
    for (;;) {
      FB_RETURN_NOT_OK(socket_->Receive(buffer_->bytes, BulkHeader::kBytes, patience_));
      begun_ = true;
      sink_->Heard();
      FB_ASSIGN_OR_RETURN(auto header,
                          BulkHeader::Decode({buffer_->bytes, BulkHeader::kBytes}));
      if (header.kind != BulkHeader::Kind::kWorking) return header;
      FB_RETURN_NOT_OK(patience_.Check());
    }
  }

  Status Chunk(const BulkHeader& header) {
    FB_RETURN_NOT_OK(sink_->Begin({.index = header.index,
                                   .size = header.size,
                                   .key = header.key,
                                   .checksum = header.checksum}));
    for (uint64_t left = header.size; left > 0;) {
      size_t room = std::min<uint64_t>(left, kBufferBytes);
      FB_ASSIGN_OR_RETURN(size_t n,
                          socket_->ReceiveSome(buffer_->bytes, room, patience_));
      if (n == 0) return Status::Unavailable("a peer broke off within a chunk");
      sink_->Heard();
      FB_RETURN_NOT_OK(sink_->Append(buffer_->bytes, n));
      left -= n;
      if (left > 0) FB_RETURN_NOT_OK(patience_.Check());
    }
    return sink_->End();
  }

  Status Failure(const BulkHeader& header) {
    const uint64_t size = header.size;
    if (size < 4 || size > kFailureBytesMax) {
      return Status::Corrupt("a peer's failure is malformed");
    }
    FB_RETURN_NOT_OK(socket_->Receive(buffer_->bytes, size, patience_));
    FB_RETURN_NOT_OK(header.CheckBody({buffer_->bytes, size}));
    Decoder in({buffer_->bytes, 4});
    auto code = in.Get<uint32_t>();
    bool known = code > 0 && code <= static_cast<uint32_t>(StatusCode::kInternal);
    refused_ = true;
    sink_->Refused();
    return {known ? static_cast<StatusCode>(code) : StatusCode::kInternal,
            std::string(buffer_->bytes + 4, size - 4)};
  }

  BulkSocket* socket_;
  ChunkSink* sink_;
  BulkSocket::Patience patience_;
  std::unique_ptr<ReceiveBuffer> buffer_;
  bool begun_ = false;
  bool refused_ = false;
};

}  // namespace

int BulkPortIn(std::string_view answer) {
  auto parsed = nlohmann::json::parse(answer, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) return 0;
  auto number = [&](const char* name) {
    auto found = parsed.find(name);
    bool there = found != parsed.end() && found->is_number_unsigned();
    return there ? found->get<uint64_t>() : 0;
  };
  constexpr uint64_t kPortMax = std::numeric_limits<uint16_t>::max();
  bool ours = number("version") == BulkHeader::kVersion && number("port") <= kPortMax;
  return ours ? static_cast<int>(number("port")) : 0;
}

std::optional<BulkSocket> BulkClient::Idle(const Place& place) {
  std::lock_guard lock(mutex_);
  auto& idle = idle_[place];
  while (!idle.empty()) {
    BulkSocket socket = std::move(idle.back());
    idle.pop_back();
    // A peer that has left since closed it.
    if (!socket.HasInput()) return socket;
  }
  return std::nullopt;
}

void BulkClient::Keep(const Place& place, BulkSocket socket) {
  std::lock_guard lock(mutex_);
  auto& idle = idle_[place];
  if (idle.size() < kIdleMax) idle.push_back(std::move(socket));
}

void BulkClient::Forget(const Place& place) {
  std::lock_guard lock(mutex_);
  idle_.erase(place);
}

void BulkClient::KeepOnly(const std::set<Place>& places) {
  std::lock_guard lock(mutex_);
  std::erase_if(idle_, [&](const auto& idle) { return !places.contains(idle.first); });
}

Status BulkClient::Fetch(const Place& place, const BulkRequest& request, ChunkSink& sink,
                         const CallOptions& options, bool* connected) {
  BulkSocket::Patience patience{
      .deadline = options.deadline,
      .ended = [stop = options.stop] { return stop.stop_requested(); }};
  *connected = true;
  for (;;) {
    std::optional<BulkSocket> socket = Idle(place);
    bool fresh = !socket;
    if (fresh) {
      BulkSocket::Patience brief = patience;
      brief.deadline =
          Deadline::After(std::min(kConnectTime, patience.deadline.Remaining()));
      auto opened = BulkSocket::Connect(place.host, place.port, brief);
      bool given_up = !patience.Check().ok();
      *connected = opened.ok() || given_up;
      FB_ASSIGN_OR_RETURN(socket, std::move(opened));
    }
    Answer answer(&*socket, &sink, patience);
    Status status = socket->Send(request.bytes, patience);
    if (status.ok()) status = answer.Receive(request.count);
    if (status.ok() || answer.refused()) Keep(place, *std::move(socket));
    // One that was idle may have been closed at this very moment; a fresh one that is
    // closed at once is one too many for the peer.
    bool turned_away = answer.silent() && status.code() == StatusCode::kUnavailable;
    if (fresh && turned_away) *connected = false;
    if (fresh || !turned_away) return status;
  }
}

}  // namespace forebay::flight
