#include "flight/peer_client.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <functional>
#include <random>
#include <thread>

#include "flight/bulk_client.h"
#include "flight/bulk_server.h"
#include "flight/fake_chunks.h"
#include "flight/service.h"
#include "support/no_threads.h"
#include "support/open_descriptors.h"

namespace forebay::flight {
namespace {

using testing_support::OpenDescriptors;

std::string RandomBytes(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

// A server of chunks of several sizes, and a client of it; with and without the bulk
// channel.
class PeerClientTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    std::vector<ServedChunk> chunks;
    for (size_t size : {size_t{1}, size_t{100'000}, size_t{5} << 20, size_t{0}}) {
      bytes_.push_back(RandomBytes(size, static_cast<uint32_t>(size)));
      chunks.push_back(MakeFakeChunk(bytes_.back()));
    }
    fake_ = std::make_unique<FakeChunks>(std::move(chunks));
    service_ = Service::Start({.socket = "/nowhere", .chunks = fake_.get()}).ValueOrDie();
    address_ = "127.0.0.1:" + std::to_string(service_->port());
  }

  static ChunkRequest Request(std::vector<uint32_t> ranges) {
    ChunkRequest request;
    request.table.uri = "/t";
    request.table.version = Hash128{1, 2};
    request.columns = {0};
    for (uint32_t range : ranges) request.refs.push_back({range, model::kNarrowGroup});
    return request;
  }
  Status Fetch(const ChunkRequest& request, const CallOptions& options = {}) {
    return client_.FetchChunks(address_, request, kept_, options);
  }

  std::vector<std::string> bytes_;
  std::unique_ptr<FakeChunks> fake_;
  std::unique_ptr<Service> service_;
  std::string address_;
  PeerClient client_{{.bulk = GetParam()}};
  KeptChunks kept_;
};

INSTANTIATE_TEST_SUITE_P(, PeerClientTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Bulk" : "Flight"; });

TEST_P(PeerClientTest, GetsChunksInTheOrderAskedFor) {
  std::vector<uint32_t> ranges = {2, 0, 3, 1, 1};
  Status status = Fetch(Request(ranges));
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(kept_.ended, ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    EXPECT_EQ(kept_.headers[i].index, i);
    EXPECT_EQ(kept_.headers[i].key, HashBytes(bytes_[ranges[i]]));
    EXPECT_TRUE(kept_.bytes[i] == bytes_[ranges[i]]);
  }
}

TEST_P(PeerClientTest, SaysWhatThePeerDoesNotHave) {
  Status status = Fetch(Request({1, 9}));
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "there is no such chunk here");
  EXPECT_EQ(kept_.ended, 1U);
}

TEST_P(PeerClientTest, EndsAtItsDeadline) {
  fake_->stuck = 1;
  Status status =
      Fetch(Request({0, 1}), {.deadline = Deadline::After(milliseconds(100))});
  EXPECT_EQ(status.code(), StatusCode::kDeadline) << status;
}

TEST_P(PeerClientTest, HearsOfAPeerThatIsAtItOrThatItWillNot) {
  fake_->stuck = 1;
  Status status = Fetch(Request({1}), {.deadline = Deadline::After(milliseconds(400))});
  EXPECT_EQ(status.code(), StatusCode::kDeadline) << status;
  EXPECT_EQ(kept_.silent, !GetParam());
  EXPECT_EQ(kept_.heard >= 3, GetParam()) << kept_.heard;
}

TEST_P(PeerClientTest, StopsWhenToldAndTheServerHearsOfIt) {
  fake_->stuck = 1;
  std::stop_source stop;
  std::thread stopper([&] {
    std::this_thread::sleep_for(milliseconds(50));
    stop.request_stop();
  });
  Status status = Fetch(Request({0, 1}), {.stop = stop.get_token()});
  stopper.join();
  EXPECT_EQ(status.code(), StatusCode::kCancelled) << status;
  TimePoint end = Clock::Real().Now() + std::chrono::seconds(10);
  while (fake_->cancelled == 0 && Clock::Real().Now() < end) std::this_thread::yield();
  EXPECT_EQ(fake_->cancelled, 1U);
}

TEST_P(PeerClientTest, IsUnavailableWhereNobodyListens) {
  service_.reset();
  EXPECT_EQ(Fetch(Request({0})).code(), StatusCode::kUnavailable);
}

TEST_P(PeerClientTest, FindsAPeerThatIsBack) {
  int port = service_->port();
  ASSERT_TRUE(Fetch(Request({0})).ok());
  service_.reset();
  EXPECT_EQ(Fetch(Request({0})).code(), StatusCode::kUnavailable);
  service_ = Service::Start({.port = port, .socket = "/nowhere", .chunks = fake_.get()})
                 .ValueOrDie();
  TimePoint end = Clock::Real().Now() + std::chrono::seconds(10);
  Status status;
  do {
    status = Fetch(Request({0}));
  } while (!status.ok() && Clock::Real().Now() < end);
  EXPECT_TRUE(status.ok()) << status;
}

TEST_P(PeerClientTest, KeepsNothingOpenToAPeerThatListensElsewhereNow) {
  if (!GetParam()) GTEST_SKIP() << "gRPC closes its own";
  std::vector<size_t> open;
  for (int restart = 0; restart < 4; ++restart) {
    int port = service_->port();
    std::vector<std::thread> threads;  // several connections
    std::vector<KeptChunks> kept(4);
    for (KeptChunks& each : kept) {
      threads.emplace_back([&] {
        (void)client_.FetchChunks(address_, Request({2, 2}), each, {});
      });
    }
    for (std::thread& thread : threads) thread.join();
    service_.reset();
    service_ = Service::Start({.port = port, .socket = "/nowhere", .chunks = fake_.get()})
                   .ValueOrDie();
    Status status;
    TimePoint end = Clock::Real().Now() + std::chrono::seconds(10);
    do {
      status = Fetch(Request({0}));
    } while (!status.ok() && Clock::Real().Now() < end);
    ASSERT_TRUE(status.ok()) << status;
    open.push_back(OpenDescriptors());
  }
  EXPECT_LE(open.back(), open.front() + 2) << "each restart leaves some behind";
}

bool Soon(const std::function<bool()>& condition) {
  TimePoint end = Clock::Real().Now() + std::chrono::seconds(10);
  while (!condition()) {
    if (Clock::Real().Now() >= end) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST_P(PeerClientTest, KeepsNothingOpenToPeersThatHaveLeft) {
  std::vector<std::unique_ptr<Service>> others;
  for (int i = 0; i < 4; ++i) {
    others.push_back(
        Service::Start({.socket = "/nowhere", .chunks = fake_.get()}).ValueOrDie());
  }
  ASSERT_TRUE(Fetch(Request({0})).ok());
  size_t before = OpenDescriptors();
  for (const auto& other : others) {
    std::string address = "127.0.0.1:" + std::to_string(other->port());
    ASSERT_TRUE(client_.FetchChunks(address, Request({0}), kept_, {}).ok());
  }
  ASSERT_GE(OpenDescriptors(), before + others.size());
  client_.KeepOnly({address_});
  // gRPC may keep some descriptors of its own; the bulk channel keeps none.
  size_t left = GetParam() ? before : before + others.size() - 1;
  EXPECT_TRUE(Soon([&] { return OpenDescriptors() <= left; }))
      << before << " descriptors before, now " << OpenDescriptors();
  ASSERT_TRUE(Fetch(Request({0})).ok());
  if (GetParam()) {
    EXPECT_EQ(OpenDescriptors(), before)
        << "the connection to the peer that stays is new";
  }
}

TEST_P(PeerClientTest, BreaksOffWhenThePeerStops) {
  fake_->stuck = 1;
  std::thread stopper([&] {
    std::this_thread::sleep_for(milliseconds(50));
    service_->Stop();
  });
  Status status = Fetch(Request({0, 1}));
  stopper.join();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status;
}

TEST_P(PeerClientTest, GivesUpOnAPeerThatNeverAnswers) {
  // Listens, and never says a word.
  UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in local{};
  local.sin_family = AF_INET;
  local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(local);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&local), size), 0);
  ASSERT_EQ(::listen(listener.get(), 8), 0);
  ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&local), &size);
  address_ = "127.0.0.1:" + std::to_string(ntohs(local.sin_port));
  auto start = Clock::Real().Now();
  Status status = Fetch(Request({0}), {.deadline = Deadline::After(milliseconds(200))});
  EXPECT_EQ(status.code(), StatusCode::kDeadline) << status;
  EXPECT_LT(Clock::Real().Now() - start, std::chrono::seconds(5));
}

TEST_P(PeerClientTest, StopsWhereTheSinkFails) {
  class Full : public KeptChunks {
    Status Append(const void*, size_t) override { return Status::Full("no room"); }
  } full;
  Status status = client_.FetchChunks(address_, Request({2, 2}), full, {});
  EXPECT_EQ(status, Status::Full("no room"));
}

TEST_P(PeerClientTest, ServesManyAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      KeptChunks kept;
      Status status = client_.FetchChunks(address_, Request({2, 1, 2}), kept, {});
      if (status.ok() && kept.bytes[2] == bytes_[2]) ++good;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 16);
}

TEST_P(PeerClientTest, SaysWhyRowsDoNotCome) {
  RowsRequest request;
  request.table.uri = "/t";
  auto stream = client_.GatherRows(
      address_, request, {.deadline = Deadline::After(std::chrono::seconds(5))});
  // The service has no node; when that is heard of is up to gRPC.
  Status status = stream.ok() ? (*stream)->Next().status() : stream.status();
  EXPECT_NE(status.message().find("/nowhere"), std::string::npos) << status;
}

TEST_P(PeerClientTest, UsesFlightWhereThePeerHasNoBulkChannel) {
  service_ = Service::Start({.socket = "/nowhere", .chunks = fake_.get(), .bulk = false})
                 .ValueOrDie();
  address_ = "127.0.0.1:" + std::to_string(service_->port());
  Status status = Fetch(Request({2, 1}));
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(kept_.bytes[0] == bytes_[2]);
}

TEST_P(PeerClientTest, RefusalsLeaveTheConnectionGood) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Fetch(Request({9})).code(), StatusCode::kNotFound);
    EXPECT_TRUE(Fetch(Request({1})).ok());
  }
  ChunkRequest none = Request({});
  EXPECT_EQ(Fetch(none).code(), StatusCode::kInvalid);
}

// A port behind a firewall: the first word is never answered.
TEST(BulkClientTest, GivesUpSoonOnAPortThatDoesNotAnswer) {
  UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in local{};
  local.sin_family = AF_INET;
  local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(local);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&local), size), 0);
  ASSERT_EQ(::listen(listener.get(), 0), 0);
  ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&local), &size);
  std::vector<UniqueFd> waiting;  // more than the backlog takes
  for (int i = 0; i < 4; ++i) {
    waiting.emplace_back(
        ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    (void)::connect(waiting.back().get(), reinterpret_cast<sockaddr*>(&local), size);
  }
  BulkClient client;
  KeptChunks kept;
  bool connected = true;
  Status status =
      client.Fetch({"127.0.0.1", ntohs(local.sin_port)}, {}, kept, {}, &connected);
  EXPECT_FALSE(status.ok());
  EXPECT_FALSE(connected);
}

// Sends an answer's bytes one after the other, for as long as somebody listens.
void Trickle(int listener, const std::string& bytes) {
  UniqueFd peer(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (::send(peer.get(), &bytes[i], 1, MSG_NOSIGNAL) != 1) return;
    std::this_thread::sleep_for(milliseconds(2));
  }
}

TEST(BulkClientTest, StopsAPeerThatTrickles) {
  BulkListener listener = BulkListener::Listen("127.0.0.1").ValueOrDie();
  ::fcntl(listener.fd.get(), F_SETFL, 0);
  BulkHeader chunk{.kind = BulkHeader::Kind::kChunk, .size = 100'000};
  std::thread peer(
      [&] { Trickle(listener.fd.get(), chunk.Encode() + std::string(5'000, 'x')); });
  BulkClient client;
  KeptChunks kept;
  bool connected = false;
  auto start = Clock::Real().Now();
  Status status =
      client.Fetch({"127.0.0.1", listener.port}, {.bytes = "?", .count = 1}, kept,
                   {.deadline = Deadline::After(milliseconds(400))}, &connected);
  EXPECT_EQ(status.code(), StatusCode::kDeadline) << status;
  EXPECT_LT(Clock::Real().Now() - start, std::chrono::seconds(5));
  peer.join();
}

ChunkRequest OneChunk() {
  ChunkRequest request;
  request.table.uri = "/t";
  request.table.version = Hash128{1, 2};
  request.columns = {0};
  request.refs = {{0, model::kNarrowGroup}};
  return request;
}

TEST(BulkServerTest, ClosesOneConnectionTooManyAndTheClientKnows) {
  FakeChunks fake({MakeFakeChunk("x")});
  auto server =
      BulkServer::Start({.host = "127.0.0.1", .chunks = &fake, .connections_max = 1})
          .ValueOrDie();
  BulkClient client;
  KeptChunks kept;
  bool connected = false;
  BulkClient::Place place{"127.0.0.1", server->port()};
  ASSERT_TRUE(
      client.Fetch(place, BulkRequest::Of(OneChunk()), kept, {}, &connected).ok());
  BulkClient other;  // the first one's connection stays open
  Status status = other.Fetch(place, BulkRequest::Of(OneChunk()), kept, {}, &connected);
  EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status;
  EXPECT_FALSE(connected);
  EXPECT_TRUE(
      client.Fetch(place, BulkRequest::Of(OneChunk()), kept, {}, &connected).ok());
}

TEST(BulkServerTest, SurvivesRandomBytes) {
  FakeChunks fake({MakeFakeChunk("x")});
  auto server = BulkServer::Start({.host = "127.0.0.1", .chunks = &fake}).ValueOrDie();
  for (uint32_t seed = 0; seed < 20; ++seed) {
    auto socket = BulkSocket::Connect("127.0.0.1", server->port(), {}).ValueOrDie();
    std::string bytes = RandomBytes(BulkHeader::kBytes, seed);
    if (seed % 2 == 1) {  // a header that claims too much
      bytes = BulkHeader{.size = ~uint64_t{0} >> seed}.Encode();
    }
    (void)socket.Send(bytes, {});
    char byte;
    auto answer = socket.ReceiveSome(
        &byte, 1, {.deadline = Deadline::After(std::chrono::seconds(10))});
    EXPECT_TRUE(!answer.ok() || *answer == 0);  // closed, without a word
  }
  BulkClient client;
  KeptChunks kept;
  bool connected = false;
  EXPECT_TRUE(client
                  .Fetch({"127.0.0.1", server->port()}, BulkRequest::Of(OneChunk()), kept,
                         {}, &connected)
                  .ok());
}

// What the server says to these bytes, and the failure's own code where it is one.
StatusCode AnswerTo(BulkSocket& socket, const std::string& bytes) {
  BulkSocket::Patience patience{.deadline = Deadline::After(std::chrono::seconds(10))};
  EXPECT_TRUE(socket.Send(bytes, patience).ok());
  std::string answer(BulkHeader::kBytes, '\0');
  EXPECT_TRUE(socket.Receive(answer.data(), answer.size(), patience).ok());
  auto header = BulkHeader::Decode(answer).ValueOrDie();
  std::string body(header.size, '\0');
  EXPECT_TRUE(socket.Receive(body.data(), body.size(), patience).ok());
  if (header.kind != BulkHeader::Kind::kFailure) return StatusCode::kOk;
  EXPECT_TRUE(header.CheckBody(body).ok());
  return static_cast<StatusCode>(body[0]);
}

TEST(BulkServerTest, DoesNotAnswerADamagedQuestionAndGoesOn) {
  FakeChunks fake({MakeFakeChunk("x")});
  auto server = BulkServer::Start({.host = "127.0.0.1", .chunks = &fake}).ValueOrDie();
  auto socket = BulkSocket::Connect("127.0.0.1", server->port(), {}).ValueOrDie();
  std::string good = BulkRequest::Of(OneChunk()).bytes;
  std::string bad = good;
  bad.back() = ' ';  // still a ticket as far as its size goes
  EXPECT_EQ(AnswerTo(socket, bad), StatusCode::kCorrupt);
  RowsRequest rows;
  rows.table.uri = "/t";
  std::string question = BulkRequest::Of(rows, std::vector<uint64_t>{4, 5}).bytes;
  question[question.size() - 8] ^= 1;  // another row
  EXPECT_EQ(AnswerTo(socket, question), StatusCode::kCorrupt);
  EXPECT_EQ(AnswerTo(socket, good), StatusCode::kOk);
}

// A request with enough row numbers to need a reservation.
BulkRequest ManyRows() {
  RowsRequest rows;
  rows.table.uri = "/t";
  return BulkRequest::Of(rows, std::vector<uint64_t>(kChunkTicketBytesMax / 8));
}

TEST(BulkServerTest, HoldsLargeRequestsOnlyAsFarAsItsMemoryGoes) {
  FakeChunks fake({MakeFakeChunk("x")});
  std::string many = ManyRows().bytes;
  auto server = BulkServer::Start({.host = "127.0.0.1",
                                   .chunks = &fake,
                                   .request_memory_bytes = 3 * many.size(),
                                   .request_wait = milliseconds(0)})
                    .ValueOrDie();
  auto connect = [&] {
    return BulkSocket::Connect("127.0.0.1", server->port(), {}).ValueOrDie();
  };
  std::optional<BulkSocket> claims = connect();
  ASSERT_TRUE(claims->Send(many.substr(0, many.size() - 1), {}).ok());
  auto socket = connect();
  // The server may look at the second before the first.
  EXPECT_TRUE(Soon([&] { return AnswerTo(socket, many) == StatusCode::kUnavailable; }));
  EXPECT_EQ(AnswerTo(socket, BulkRequest::Of(OneChunk()).bytes), StatusCode::kOk)
      << "small requests need no room";
  claims.reset();
  // Rows make no sense here: this server has no tables.
  EXPECT_TRUE(Soon([&] { return AnswerTo(socket, many) == StatusCode::kInvalid; }));
}

TEST(BulkClientTest, DoesNotBelieveADamagedFailure) {
  BulkListener listener = BulkListener::Listen("127.0.0.1").ValueOrDie();
  ::fcntl(listener.fd.get(), F_SETFL, 0);
  std::string body = std::string("\x03\0\0\0", 4) + "no";
  BulkHeader failure{.kind = BulkHeader::Kind::kFailure,
                     .size = body.size(),
                     .checksum = HashBytes(body)};
  body[0] = 4;
  std::thread peer([&] {
    UniqueFd fd(::accept4(listener.fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
    std::string bytes = failure.Encode() + body;
    EXPECT_EQ(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  });
  BulkClient client;
  KeptChunks kept;
  bool connected = false;
  Status status = client.Fetch({"127.0.0.1", listener.port}, {.bytes = "?", .count = 1},
                               kept, {}, &connected);
  peer.join();
  EXPECT_EQ(status.code(), StatusCode::kCorrupt) << status;
}

TEST(BulkClientTest, FindsThePortOfItsOwnVersionOnly) {
  EXPECT_EQ(BulkPortIn(R"({"port": 7072, "version": 3})"), 7072);
  EXPECT_EQ(BulkPortIn(R"({"port": 65535, "version": 3})"), 65535);
  for (const char* answer :
       {"", "[]", "{}", R"({"port": 7072})", R"({"port": 7072, "version": 2})",
        R"({"port": 7072, "version": 4})", R"({"port": 65536, "version": 3})",
        R"({"port": -1, "version": 3})", R"({"port": "1", "version": 3})"}) {
    EXPECT_EQ(BulkPortIn(answer), 0) << answer;
  }
}

TEST(ServiceTest, AtTheLimitOfThreadsSaysSo) {
  testing_support::NoThreads limit;
  auto service = Service::Start({.socket = "/nowhere"});
  EXPECT_EQ(service.status().code(), StatusCode::kFull) << service.status();
}

TEST(ServiceTest, TurnsAwayMoreStreamsThanItTakes) {
  FakeChunks fake({MakeFakeChunk("x")});
  fake.stuck = 0;
  auto service = Service::Start({.socket = "/nowhere", .chunks = &fake, .streams_max = 1})
                     .ValueOrDie();
  std::string address = "127.0.0.1:" + std::to_string(service->port());
  PeerClient client({.bulk = false});
  ChunkRequest request = OneChunk();
  std::stop_source stop;
  std::vector<std::thread> threads;
  std::atomic<int> unavailable{0};
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      KeptChunks kept;
      Status status =
          client.FetchChunks(address, request, kept, {.stop = stop.get_token()});
      if (status.code() != StatusCode::kUnavailable) return;
      if (++unavailable == 2) stop.request_stop();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(unavailable, 2);
}

}  // namespace
}  // namespace forebay::flight
