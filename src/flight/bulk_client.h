// Fetches chunks over the bulk channel. Keeps connections for the next request.
// Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flight/bulk_socket.h"
#include "flight/peer_client.h"

namespace forebay::flight {

// The port that the action `bulk` tells; 0 where there is none, and where it speaks
// another version: Flight is the way to such a peer.
int BulkPortIn(std::string_view answer);

class BulkClient {
 public:
  struct Place {
    std::string host;
    int port = 0;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  // As PeerClient::FetchChunks. `*connected` tells whether anybody listened there.
  Status Fetch(const Place& place, const BulkRequest& request, ChunkSink& sink,
               const CallOptions& options, bool* connected);
  void Forget(const Place& place);
  // Forgets all others.
  void KeepOnly(const std::set<Place>& places);

 private:
  static constexpr size_t kIdleMax = 8;  // of one place

  std::optional<BulkSocket> Idle(const Place& place);
  void Keep(const Place& place, BulkSocket socket);

  std::mutex mutex_;
  std::map<Place, std::vector<BulkSocket>> idle_;
};

}  // namespace forebay::flight
