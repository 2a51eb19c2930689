#include "wire/message.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>

namespace forebay::wire {
namespace {

// One of every message, no member left at its default.
std::vector<Message> OneOfEach() {
  std::vector<model::ChunkRef> refs = {{3, 7}, {4, model::kNarrowGroup}};
  std::vector<ChunkHandle> handles = {{{1, 2}, 1ULL << 40},
                                      {{5, 6}, 64, {7, 8, 9}, true}};
  return {
      Hello{.protocol = 9, .pid = 77, .program = "python"},
      Welcome{.protocol = 8, .pid = 78, .node_version = "1.2.3", .store = "mem:4B"},
      Failure{Status::Changed("the object was overwritten: s3://b/k")},
      Open{.uri = "s3://b/p",
           .options = {{"s3.endpoint", "http://h:1"}, {"s3.region", ""}},
           .timeout_ms = 1234,
           .pinned_bytes = 99},
      Opened{.dataset = 2, .manifest_bytes = 1ULL << 33, .columns = {"x", "y"}},
      View{.dataset = 3, .columns = {0, 5, 9}},
      Viewed{.view = 4},
      GetChunks{.view = 5, .timeout_ms = 77, .keeps_borrowed = true, .refs = refs},
      Chunks{.view = 6, .tight = true, .chunks = handles},
      Want{.view = 7, .refs = refs},
      Release{.view = 8, .refs = refs},
      Hold{.view = 9, .chunks = handles},
      Evicted{.view = 10, .refs = refs},
      Progress{.view = 11, .position = 1ULL << 41, .position_count = 1ULL << 42},
      Warmup{.view = 12, .timeout_ms = 88},
      WarmupState{.rows_done = 1,
                  .row_count = 2,
                  .chunks_done = 3,
                  .chunk_count = 4,
                  .bytes_stored = 5,
                  .bytes_fetched = 6,
                  .evicted = 7,
                  .done = true,
                  .failures = {"a: b", ""}},
      GetCoverage{.view = 13},
      Coverage{.chunk_count = 7, .chunks_stored = 8, .rows_stored = 9},
      GetStatus{},
      Text{.size = 10},
      Follow{.view = 14,
             .mode = 1,
             .seed = 2,
             .epoch = 3,
             .window_ranges = 4,
             .position = 1ULL << 43},
      OpenFiles{.uri = "s3://b/images",
                .options = {{"s3.region", "r"}},
                .timeout_ms = 55,
                .pinned_bytes = 1ULL << 34},
      FilesOpened{.view = 15, .manifest_bytes = 1ULL << 35},
      Gather{.view = 16, .ticket = 1ULL << 50, .row_count = 3},
      GetGathered{.ticket = 1ULL << 51, .timeout_ms = 56},
      Gathered{.ticket = 1ULL << 52, .part_count = 17, .sizes = {1, 1ULL << 36}},
      GetRoom{.view = 18},
      Room{.store_bytes = 1ULL << 37, .cluster_bytes = 1ULL << 38},
      DropGathered{.tickets = {1ULL << 53, 2}},
  };
}

uint16_t TypeOf(const std::string& bytes) {
  uint16_t type = 0;
  std::memcpy(&type, bytes.data(), sizeof(type));
  return type;
}

TEST(Message, OfEveryTypeSurvivesTheWire) {
  std::vector<Message> messages = OneOfEach();
  ASSERT_EQ(messages.size(), std::variant_size_v<Message>);
  for (size_t i = 0; i < messages.size(); ++i) {
    std::string bytes = Encode({1000 + i, messages[i]});
    EXPECT_EQ(TypeOf(bytes), i);
    Envelope back = Decode(bytes).ValueOrDie();
    EXPECT_EQ(back.request, 1000 + i);
    ASSERT_EQ(back.message.index(), i);
    // Members are compared by their bytes: encoding has no freedom.
    EXPECT_EQ(Encode(back), bytes) << i;
  }
}

TEST(Message, KeepsWhatItSays) {
  auto message = Decode(Encode({1, OneOfEach()[3]})).ValueOrDie().message;
  const auto& open = std::get<Open>(message);
  EXPECT_EQ(open.uri, "s3://b/p");
  EXPECT_EQ(open.options.at("s3.endpoint"), "http://h:1");
  EXPECT_EQ(open.options.size(), 2);
  EXPECT_EQ(open.timeout_ms, 1234);
  EXPECT_EQ(open.pinned_bytes, 99);
  message = Decode(Encode({1, OneOfEach()[15]})).ValueOrDie().message;
  const auto& state = std::get<WarmupState>(message);
  EXPECT_TRUE(state.done);
  EXPECT_EQ(state.failures, (std::vector<std::string>{"a: b", ""}));
  EXPECT_EQ(state.bytes_fetched, 6);
  message = Decode(Encode({1, OneOfEach()[8]})).ValueOrDie().message;
  const auto& chunks = std::get<Chunks>(message);
  EXPECT_EQ(chunks.chunks[0].ref, (model::ChunkRef{1, 2}));
  EXPECT_EQ(chunks.chunks[0].size, 1ULL << 40);
  EXPECT_TRUE(chunks.tight);
}

// The layout is a promise (docs/formats/reader-protocol.md): these bytes never change
// while the protocol's version does not.
TEST(Message, HasTheDocumentedBytes) {
  std::string hello = Encode({0x0807060504030201, Hello{.pid = 2, .program = "ab"}});
  EXPECT_EQ(hello, std::string("\x00\x00"
                               "\x01\x02\x03\x04\x05\x06\x07\x08"
                               "\x06\x00\x00\x00"
                               "\x02\x00\x00\x00"
                               "\x02\x00\x00\x00"
                               "ab",
                               24));
  std::string failure = Encode({1, Failure{Status::NotFound("x")}});
  EXPECT_EQ(failure, std::string("\x02\x00"
                                 "\x01\x00\x00\x00\x00\x00\x00\x00"
                                 "\x02\x00\x00\x00"
                                 "\x01\x00\x00\x00x",
                                 19));
}

TEST(Message, CarriesEveryStatusCode) {
  for (int code = 1; code <= static_cast<int>(StatusCode::kInternal); ++code) {
    Status status(static_cast<StatusCode>(code), "why");
    auto back = Decode(Encode({1, Failure{status}})).ValueOrDie();
    EXPECT_EQ(std::get<Failure>(back.message).status, status);
  }
}

TEST(Message, NeverTakesAFailureForASuccess) {
  std::string bytes = Encode({1, Failure{Status::NotFound("x")}});
  for (uint32_t code : {0U, 12U, 0xFFFFFFFFU}) {
    std::memcpy(bytes.data() + 10, &code, sizeof(code));
    auto back = Decode(bytes).ValueOrDie();
    EXPECT_EQ(std::get<Failure>(back.message).status.code(), StatusCode::kInternal);
  }
}

TEST(Message, CutShortAnywhereIsCorrupt) {
  for (const Message& message : OneOfEach()) {
    std::string bytes = Encode({7, message});
    for (size_t size = 0; size < bytes.size(); ++size) {
      auto decoded = Decode(std::string_view(bytes).substr(0, size));
      EXPECT_EQ(decoded.status().code(), StatusCode::kCorrupt)
          << "type " << message.index() << " cut at " << size;
    }
  }
}

TEST(Message, WithBytesAfterItIsCorrupt) {
  for (const Message& message : OneOfEach()) {
    EXPECT_EQ(Decode(Encode({7, message}) + '\0').status().code(), StatusCode::kCorrupt);
  }
}

TEST(Message, OfAnUnknownTypeIsCorrupt) {
  std::string bytes = Encode({1, GetStatus{}});
  for (uint16_t type : {uint16_t{std::variant_size_v<Message>}, uint16_t{0xFFFF}}) {
    std::memcpy(bytes.data(), &type, sizeof(type));
    EXPECT_EQ(Decode(bytes).status().code(), StatusCode::kCorrupt);
  }
}

// A count says how many follow; a lie must not become an allocation.
TEST(Message, ThatClaimsMoreThanItHoldsIsCorrupt) {
  for (const Message& message : OneOfEach()) {
    std::string bytes = Encode({7, message});
    for (size_t at = 10; at + 4 <= bytes.size(); ++at) {
      std::string lie = bytes;
      std::memset(lie.data() + at, 0xFF, 4);
      (void)Decode(lie);  // must come back, under a sanitizer too
    }
  }
}

TEST(Message, OfGarbageNeverCrashes) {
  std::random_device device;
  uint32_t seed = device();
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 200, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    // Mostly known types, so that the members are reached.
    if (bytes.size() >= 2 && i % 4 != 0) {
      bytes[0] = static_cast<char>(random() % std::variant_size_v<Message>);
      bytes[1] = 0;
    }
    auto decoded = Decode(bytes);
    // Whatever is taken for a message is one.
    EXPECT_TRUE(!decoded.ok() || Decode(Encode(*decoded)).ok());
  }
}

TEST(Message, OfTheLargestRequestFitsOnePacket) {
  std::vector<model::ChunkRef> refs(kRequestRefsMax);
  EXPECT_LE(Encode({1, GetChunks{.view = 0, .refs = refs}}).size(), size_t{64} * 1024);
}

}  // namespace
}  // namespace forebay::wire
