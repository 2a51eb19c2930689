// The messages of the reader protocol (docs/formats/reader-protocol.md). A message on the
// wire is: type (u16), request id (u64), body. Requests get one or more answers with the
// same id; events have id 0.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "model/chunk.h"

namespace forebay::wire {

constexpr uint32_t kProtocolVersion = 6;
// Chunks asked for in one request; keeps a request inside one message.
constexpr size_t kRequestRefsMax = 4096;

// reader → node, first. Answer: Welcome.
struct Hello {
  uint32_t protocol = kProtocolVersion;
  uint32_t pid = 0;
  std::string program;  // for `forebay status`
};
struct Welcome {
  uint32_t protocol = kProtocolVersion;
  uint32_t pid = 0;
  std::string node_version;
  std::string store;
};
// Answer to any request that failed.
struct Failure {
  Status status;
};
// Opens a dataset. With a manifest descriptor attached: that version and no other.
// Answer: Opened, with the manifest's descriptor attached.
struct Open {
  std::string uri;
  std::map<std::string, std::string> options;
  uint64_t timeout_ms = 0;
  uint64_t pinned_bytes = 0;  // size of the attached manifest, 0: none
};
struct Opened {
  uint32_t dataset = 0;
  uint64_t manifest_bytes = 0;
  std::vector<std::string> columns;  // for readers who name none; empty: all
};
// A projection of an opened dataset; chunks are asked for in a view. Answer: Viewed.
struct View {
  uint32_t dataset = 0;
  model::Projection columns;
};
struct Viewed {
  uint32_t view = 0;
};
// Asks for chunks in order of need. Answers: Chunks until all are there, or a Failure.
struct GetChunks {
  uint32_t view = 0;
  uint64_t timeout_ms = 0;
  // Borrowed chunks stay mapped for as long as the reader likes: kFull unless the node
  // can lend one more besides. False: they are let go of before the reader asks for more.
  bool keeps_borrowed = false;
  std::vector<model::ChunkRef> refs;
};
// What a fill spent on what, in microseconds.
struct FillTimes {
  uint32_t peer_us = 0;
  uint32_t source_us = 0;
  uint32_t decode_us = 0;
};
struct ChunkHandle {
  model::ChunkRef ref;
  uint64_t size = 0;
  FillTimes times{};  // for whoever waited; all 0 for one that was there
  // No tier holds it: it is memory of the node's budget until it is unmapped, so let go
  // of it soon.
  bool borrowed = false;
};
struct Chunks {
  uint32_t view = 0;
  bool tight = false;               // the store is full: keep nothing mapped for later
  std::vector<ChunkHandle> chunks;  // one descriptor each, in this order
};
// No answer: these will be needed, in this order.
struct Want {
  uint32_t view = 0;
  std::vector<model::ChunkRef> refs;
};
// No answer: these are no longer mapped.
struct Release {
  uint32_t view = 0;
  std::vector<model::ChunkRef> refs;
};
// No answer: these are mapped here since an earlier connection (the node before died, or
// this process was forked).
struct Hold {
  uint32_t view = 0;
  std::vector<ChunkHandle> chunks;
};
// Event: these were evicted; let go of them at the next batch boundary.
struct Evicted {
  uint32_t view = 0;
  std::vector<model::ChunkRef> refs;
};
// No answer: how far this reader is.
struct Progress {
  uint32_t view = 0;
  uint64_t position = 0;
  uint64_t position_count = 0;
};
// No answer: this reader goes through the view in this order (plan/order.h), so the node
// knows what is needed next. Progress says how far it is.
struct Follow {
  uint32_t view = 0;
  uint8_t mode = 0;
  uint64_t seed = 0;
  uint64_t epoch = 0;
  uint64_t window_ranges = 0;
  uint64_t position = 0;
};
// Answers: WarmupState, repeatedly, until `done`.
struct Warmup {
  uint32_t view = 0;
  uint64_t timeout_ms = 0;
};
struct WarmupState {
  uint64_t rows_done = 0;
  uint64_t row_count = 0;
  uint64_t chunks_done = 0;
  uint64_t chunk_count = 0;
  uint64_t bytes_stored = 0;   // of the chunks that are there
  uint64_t bytes_fetched = 0;  // from the source, by this warm-up
  uint64_t evicted = 0;  // chunks that came and are not there any more; known when done
  bool done = false;
  std::vector<std::string> failures;  // "uri: why"
};
// How much of a view is in the store. Answer: Coverage.
struct GetCoverage {
  uint32_t view = 0;
};
struct Coverage {
  uint64_t chunk_count = 0;
  uint64_t chunks_stored = 0;
  uint64_t rows_stored = 0;  // rows of ranges of which every chunk is there
};
// Answer: Text, JSON for `forebay status`, as a descriptor when it is long.
struct GetStatus {};
struct Text {
  uint64_t size = 0;
};

// Opens a tree of files (docs/formats/files-manifest.md), pinned or not as Open does.
// What is opened is a view: GetChunks, Want, Release, Hold, Warmup and GetCoverage take
// it, with refs (file, extent) and (pack, 0xFFFFFFFE). Answer: FilesOpened, with the
// manifest's descriptor attached.
struct OpenFiles {
  std::string uri;
  std::map<std::string, std::string> options;
  uint64_t timeout_ms = 0;
  uint64_t pinned_bytes = 0;
};
struct FilesOpened {
  uint32_t view = 0;
  uint64_t manifest_bytes = 0;
};

// Rows of a view by number, ahead of need: attached are `row_count` numbers (u64 each).
// The ticket is the reader's own, to ask for them later. No answer.
struct Gather {
  uint32_t view = 0;
  uint64_t ticket = 0;
  uint64_t row_count = 0;
};
// Answers: Gathered until all parts were handed over, or a Failure. The ticket is used
// up.
struct GetGathered {
  uint64_t ticket = 0;
  uint64_t timeout_ms = 0;
};
// The first has as its first descriptor the part of each row (u32 each; kRowInChunks: the
// row is to be read from its chunks); then one descriptor for each size: a chunk that
// holds the rows of its part in the order in which they were asked for.
struct Gathered {
  uint64_t ticket = 0;
  uint32_t part_count = 0;
  std::vector<uint64_t> sizes{};
};
// No answer: the rows of these tickets are not needed any more.
struct DropGathered {
  std::vector<uint64_t> tickets;
};
constexpr uint32_t kRowInChunks = 0xFFFFFFFF;
constexpr uint64_t kGatherRowsMax = uint64_t{1} << 20;
// What can be held of a view's version at once. Answer: Room.
struct GetRoom {
  uint32_t view = 0;
};
struct Room {
  uint64_t store_bytes = 0;    // by this node, in memory or on its own disks
  uint64_t cluster_bytes = 0;  // by the nodes of the version's cluster; 0: not known
};

using Message =
    std::variant<Hello, Welcome, Failure, Open, Opened, View, Viewed, GetChunks, Chunks,
                 Want, Release, Hold, Evicted, Progress, Warmup, WarmupState, GetCoverage,
                 Coverage, GetStatus, Text, Follow, OpenFiles, FilesOpened, Gather,
                 GetGathered, Gathered, GetRoom, Room, DropGathered>;

struct Envelope {
  uint64_t request = 0;
  Message message;
};

std::string Encode(const Envelope& envelope);
// kCorrupt for anything that is not exactly one known message.
Result<Envelope> Decode(std::string_view bytes);

}  // namespace forebay::wire
