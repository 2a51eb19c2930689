// The name of a chunk still being written: who writes it and how much room it asks for.
//   <host, 16 hex>-<pid>-<process start>-<store, 16 hex>-<number>-<bytes>
// The owner tells a sweep whether the writer can still be alive; the bytes are the claim
// other processes on the same directory must leave room for before they are written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace forebay::storage {

// A process, told apart from every other one of this boot. `host` covers the boot and the
// pid namespace, so that equal hosts can compare pids.
struct ProcessIdentity {
  uint64_t host = 0;
  int64_t pid = 0;
  uint64_t start = 0;  // in clock ticks since boot; a reused pid has another

  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;

  static ProcessIdentity Self();
  // False only when the process is of this host and surely gone.
  bool MayBeAlive() const;
};

struct TempName {
  ProcessIdentity owner;
  uint64_t store = 0;   // random, one per opened store
  uint64_t number = 0;  // counts up within it
  uint64_t claimed_bytes = 0;

  std::string ToString() const;
  static std::optional<TempName> Parse(std::string_view text);
};

// Random bits from the kernel.
uint64_t RandomNonce();

}  // namespace forebay::storage
