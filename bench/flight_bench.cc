// Chunks from node to node, beside a stock Flight client that reads the same bytes as
// wide rows from a bare Flight server. Servers are in a process of their own. Prints
// JSON: bytes a second of each, medians of interleaved rounds.
#include <arrow/api.h>
#include <arrow/flight/client.h>
#include <arrow/flight/server.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <thread>

#include "flight/fake_chunks.h"
#include "flight/service.h"

namespace {

namespace af = arrow::flight;
using forebay::Status;

constexpr uint64_t kChunkBytes = uint64_t{16} << 20;
constexpr uint32_t kChunks = 64;
constexpr int64_t kRowBytes = 1024;
constexpr int64_t kBatchBytes = int64_t{2} << 20;

struct Ports {
  int bare = 0;
  int ours = 0;
};

// Streams `kChunks` times the same 16 MiB, as rows of 1 KiB.
class BareServer : public af::FlightServerBase {
 public:
  BareServer() {
    auto values = arrow::AllocateBuffer(kChunkBytes).ValueOrDie();
    std::memset(values->mutable_data(), 7, kChunkBytes);
    auto type = arrow::fixed_size_binary(kRowBytes);
    schema_ = arrow::schema({arrow::field("row", type, false)});
    std::shared_ptr<arrow::Buffer> shared = std::move(values);
    auto array = std::make_shared<arrow::FixedSizeBinaryArray>(
        type, kChunkBytes / kRowBytes, shared);
    auto whole = arrow::RecordBatch::Make(schema_, array->length(), {array});
    for (int64_t at = 0; at < array->length(); at += kBatchBytes / kRowBytes) {
      batches_.push_back(whole->Slice(at, kBatchBytes / kRowBytes));
    }
  }
  arrow::Status DoGet(const af::ServerCallContext&, const af::Ticket&,
                      std::unique_ptr<af::FlightDataStream>* out) override {
    std::vector<std::shared_ptr<arrow::RecordBatch>> all;
    for (uint32_t i = 0; i < kChunks; ++i) {
      all.insert(all.end(), batches_.begin(), batches_.end());
    }
    ARROW_ASSIGN_OR_RAISE(auto reader, arrow::RecordBatchReader::Make(all, schema_));
    *out = std::make_unique<af::RecordBatchStream>(reader);
    return arrow::Status::OK();
  }

 private:
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches_;
};

void Serve(int ready) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  BareServer bare;
  auto location = af::Location::ForGrpcTcp("127.0.0.1", 0).ValueOrDie();
  FB_CHECK(bare.Init(af::FlightServerOptions(location)).ok());
  std::vector<forebay::flight::ServedChunk> chunks(
      kChunks, forebay::flight::MakeFakeChunk(std::string(kChunkBytes, 7)));
  forebay::flight::FakeChunks fake(std::move(chunks));
  auto service = forebay::flight::Service::Start({.socket = "/nowhere", .chunks = &fake})
                     .ValueOrDie();
  Ports ports{bare.port(), service->port()};
  FB_CHECK(::write(ready, &ports, sizeof(ports)) == sizeof(ports));
  for (;;) ::pause();
}

// Looks at what comes as much as a stock client's loop does: not at all.
class Counted : public forebay::flight::ChunkSink {
 public:
  uint64_t bytes = 0;

  Status Begin(const Chunk&) override { return Status::OK(); }
  Status Append(const void*, size_t size) override {
    bytes += size;
    return Status::OK();
  }
  Status End() override { return Status::OK(); }
};

void ReadBare(int port) {
  auto location = af::Location::ForGrpcTcp("127.0.0.1", port).ValueOrDie();
  auto client = af::FlightClient::Connect(location).ValueOrDie();
  auto stream = client->DoGet({"all"}).ValueOrDie();
  while (stream->Next().ValueOrDie().data != nullptr) {
  }
}

void Fetch(forebay::flight::PeerClient& client, int port, uint32_t streams) {
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < streams; ++i) {
    threads.emplace_back([&, i] {
      forebay::flight::ChunkRequest request;
      request.table.uri = "/t";
      request.table.version = forebay::Hash128{1, 2};
      request.columns = {0};
      for (uint32_t chunk = i; chunk < kChunks; chunk += streams) {
        request.refs.push_back({chunk, forebay::model::kNarrowGroup});
      }
      Counted sink;
      Status status =
          client.FetchChunks("127.0.0.1:" + std::to_string(port), request, sink, {});
      if (!status.ok()) forebay::Die(status);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

struct Side {
  const char* name;
  std::function<void()> work;
  std::vector<double> rates{};
  double cpu_seconds = 0;  // of both processes, in all rounds

  void Run(pid_t server);
};

// Seconds that a process has run, all its threads together.
double CpuSeconds(pid_t pid) {
  clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
  if (pid != 0) ::clock_getcpuclockid(pid, &clock);
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void Side::Run(pid_t server) {
  double cpu = CpuSeconds(0) + CpuSeconds(server);
  auto start = std::chrono::steady_clock::now();
  work();
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  cpu_seconds += CpuSeconds(0) + CpuSeconds(server) - cpu;
  rates.push_back(static_cast<double>(kChunks * kChunkBytes) / took.count());
}

// Every row of a table once, shuffled, by number: 1024 a question, 16 questions ahead.
int GatherAll(const std::string& address, const std::string& uri, uint64_t row_count) {
  constexpr uint64_t kRows = 1024;
  constexpr uint64_t kAhead = 16;
  std::vector<uint64_t> rows(row_count);
  std::iota(rows.begin(), rows.end(), 0);
  std::shuffle(rows.begin(), rows.end(), std::mt19937_64(1));
  forebay::flight::PeerClient client;
  forebay::flight::RowsRequest request;
  request.table.uri = uri;
  auto start = std::chrono::steady_clock::now();
  auto stream = client.GatherRows(address, request, {}).ValueOrDie();
  uint64_t asked = 0, got = 0;
  auto ask = [&] {
    uint64_t count = std::min(kRows, row_count - asked);
    Status status =
        count > 0 ? stream->Ask(std::span(rows).subspan(asked, count)) : Status::OK();
    if (!status.ok()) forebay::Die(status);
    asked += count;
  };
  for (uint64_t i = 0; i < kAhead; ++i) ask();
  while (got < row_count) {
    auto batch = stream->Next().ValueOrDie();
    FB_CHECK(batch != nullptr);
    got += static_cast<uint64_t>(batch->num_rows());
    ask();
  }
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("%.4g\n", static_cast<double>(row_count) / took.count());
  return 0;
}

}  // namespace

// flight_bench [ROUNDS], or flight_bench rows ADDRESS URI ROWS: rows a second.
int main(int argc, char** argv) {
  if (argc == 5) return GatherAll(argv[2], argv[3], std::strtoull(argv[4], nullptr, 10));
  int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  int ends[2];
  if (::pipe(ends) != 0) return 1;
  pid_t child = ::fork();
  if (child == 0) Serve(ends[1]);
  ::close(ends[1]);
  Ports ports;
  if (::read(ends[0], &ports, sizeof(ports)) != sizeof(ports)) return 1;
  forebay::flight::PeerClient by_flight({.bulk = false});
  forebay::flight::PeerClient by_bulk;
  Side sides[] = {{"bare", [&] { ReadBare(ports.bare); }},
                  {"flight", [&] { Fetch(by_flight, ports.ours, 1); }},
                  {"bulk", [&] { Fetch(by_bulk, ports.ours, 1); }},
                  {"bulk2", [&] { Fetch(by_bulk, ports.ours, 2); }}};
  for (int round = 0; round < rounds; ++round) {
    for (Side& side : sides) side.Run(child);
  }
  const char* separator = "{";
  for (Side& side : sides) {
    std::ranges::sort(side.rates);
    double gigabytes = static_cast<double>(kChunks * kChunkBytes) * rounds * 1e-9;
    std::printf("%s\"%s\": %.4g, \"%s cpu\": %.3g", separator, side.name,
                side.rates[side.rates.size() / 2], side.name,
                side.cpu_seconds / gigabytes);
    separator = ", ";
  }
  std::printf("}\n");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return 0;
}
