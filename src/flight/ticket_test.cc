#include <gtest/gtest.h>

#include <random>

#include "flight/peer_request.h"

namespace forebay::flight {
namespace {

const char* const kVersion = "0123456789abcdeffedcba9876543210";

Status StatusOf(const std::string& text) { return ParseTicket(text).status(); }

TEST(BatchCommand, ComesBackFromItsText) {
  BatchCommand command;
  command.table.uri = "s3://lake/events";
  command.table.options = {{"s3.endpoint", "http://127.0.0.1:9"},
                           {"forebay.filter", "x > 3"}};
  command.table.version = Hash128::FromHex(kVersion);
  command.columns = {"b", "a"};
  command.order = plan::OrderMode::kWindow;
  command.window = 5;
  command.seed = ~uint64_t{0};
  command.epoch = 3;
  command.rank = 2;
  command.world_size = 4;
  command.worker = 1;
  command.worker_count = 3;
  command.global_batch_size = 1000;
  command.start_step = 6;
  command.start_position = 77;
  command.remainder = plan::Remainder::kWrap;
  EXPECT_EQ(*ParseBatchCommand(command.ToJson()), command);
}

TEST(BatchCommand, TakesPlainMembersForOptionsOfTheTable) {
  auto command = ParseBatchCommand(
      R"({"uri": "/t", "filter": "x > 3", "snapshot": 17, "as_of": 1000})");
  ASSERT_TRUE(command.ok()) << command.status();
  std::map<std::string, std::string> wanted{
      {"forebay.filter", "x > 3"}, {"forebay.snapshot", "17"}, {"forebay.as-of", "1000"}};
  EXPECT_EQ(command->table.options, wanted);
}

TEST(BatchCommand, NamesWhatIsWrong) {
  struct Case {
    const char* text;
    const char* said;
  };
  const Case cases[] = {
      {"", "not a JSON object"},
      {"[1]", "not a JSON object"},
      {"{\"uri\": \"/t\"", "not a JSON object"},
      {"{}", "either dataset"},
      {R"({"uri": "/t", "dataset": "x"})", "either dataset"},
      {R"({"uri": "/t", "batchsize": 3})", "\"batchsize\""},
      {R"({"uri": "/t", "batch_size": -1})", "\"batch_size\""},
      {R"({"uri": "/t", "batch_size": 0})", "batch_size"},
      {R"({"uri": "/t", "batch_size": 1.5})", "\"batch_size\""},
      {R"({"uri": "/t", "batch_size": "8"})", "\"batch_size\""},
      {R"({"uri": "/t", "order": "random"})", "random"},
      {R"({"uri": "/t", "columns": "x"})", "\"columns\""},
      {R"({"uri": "/t", "columns": [1]})", "\"columns\""},
      {R"({"uri": "/t", "rank": 2, "world_size": 2})", "rank must be below"},
      {R"({"uri": "/t", "batch_size": 1, "global_batch_size": 1})", "not both"},
      {R"({"uri": "/t", "start_step": 1})", "count batches"},
      {R"({"uri": "/t", "version": "abc"})", "hexadecimal"},
      {R"({"uri": "/t", "window": 3})", "window"},
      {R"({"uri": "/t", "options": {"a": 1}})", "\"options\""},
      {R"({"uri": "/t", "intervals": 3})", "intervals is a list"},
      {R"({"uri": "/t", "intervals": [[0, 0]]})", "intervals is a list"},
      {R"({"uri": "/t", "intervals": [[0]]})", "intervals is a list"},
      {R"({"uri": "/t", "intervals": [[-1, 2]]})", "intervals is a list"},
      {R"({"uri": "/t", "intervals": [[5, 5], [9, 1]]})", "intervals is a list"},
      {R"({"uri": "/t", "intervals": [[1, 18446744073709551615]]})", "a list"},
      {R"({"uri": "/t", "intervals": [[0, 1]], "batch_size": 8})", "go without"},
      {R"({"uri": "/t", "intervals": [[0, 1]], "rank": 1, "world_size": 2})",
       "go without"},
  };
  for (const Case& wrong : cases) {
    Status status = StatusOf(wrong.text);
    EXPECT_EQ(status.code(), StatusCode::kInvalid) << wrong.text;
    EXPECT_NE(status.message().find(wrong.said), std::string::npos)
        << wrong.text << ": " << status.message();
  }
}

TEST(BatchCommand, WithAsManyIntervalsAsMayBeComesBackFromItsText) {
  BatchCommand command;
  command.table.dataset = std::string(128, 'n');
  command.table.version = Hash128::FromHex(kVersion);
  command.intervals.emplace();
  EXPECT_EQ(std::get<BatchCommand>(*ParseTicket(command.ToJson())), command);
  uint64_t first = ~uint64_t{0} - 2 * kIntervalsMax;
  for (size_t i = 0; i < kIntervalsMax; ++i) {
    command.intervals->push_back({first + 2 * i, 1});
  }
  EXPECT_EQ(std::get<BatchCommand>(*ParseTicket(command.ToJson())), command);
  command.intervals->push_back({first + 2 * kIntervalsMax, 1});
  EXPECT_EQ(StatusOf(command.ToJson()).code(), StatusCode::kInvalid);
}

TEST(BatchCommand, OfALaterFormatIsUnsupported) {
  EXPECT_EQ(StatusOf(R"({"forebay": 2, "uri": "/t"})").code(), StatusCode::kUnsupported);
}

TEST(BatchCommand, IsBounded) {
  std::string text = R"({"uri": ")" + std::string(kCommandBytesMax, 'x') + "\"}";
  EXPECT_EQ(StatusOf(text).code(), StatusCode::kInvalid);
  std::string deep = R"({"uri": )" + std::string(30'000, '[');
  EXPECT_EQ(StatusOf(deep).code(), StatusCode::kInvalid);
}

ChunkRequest SomeChunks() {
  ChunkRequest request;
  request.table.uri = "/t";
  request.table.version = Hash128::FromHex(kVersion);
  request.columns = {0, 2, 5};
  request.refs = {{3, model::kNarrowGroup}, {3, 2}, {4, model::kNarrowGroup}};
  return request;
}

TEST(ChunkRequest, ComesBackFromItsText) {
  ChunkRequest request = SomeChunks();
  EXPECT_EQ(std::get<ChunkRequest>(*ParseTicket(request.ToJson())), request);
  request.stored_only = true;
  EXPECT_EQ(std::get<ChunkRequest>(*ParseTicket(request.ToJson())), request);
}

TEST(ChunkRequest, HoldsAsManyChunksAsTheReaderProtocol) {
  ChunkRequest request = SomeChunks();
  request.refs.assign(4096, {0xFFFFFFFE, 0xFFFFFFFE});
  EXPECT_TRUE(ParseTicket(request.ToJson()).ok());
  request.refs.push_back({});
  EXPECT_EQ(StatusOf(request.ToJson()).code(), StatusCode::kInvalid);
}

TEST(ChunkRequest, NamesWhatIsWrong) {
  auto with = [](const std::string& members) {
    return R"({"chunks": {"uri": "/t", "version": ")" + std::string(kVersion) + "\"" +
           members + "}}";
  };
  EXPECT_TRUE(StatusOf(with(R"(, "columns": [0], "refs": [[0]])")).ok());
  for (const char* members :
       {"", R"(, "columns": [0])", R"(, "columns": 0, "refs": [[0]])",
        R"(, "columns": [1, 1], "refs": [[0]])", R"(, "columns": [0], "refs": [])",
        R"(, "columns": [0], "refs": [0])", R"(, "columns": [0], "refs": [[0, 1, 2]])",
        R"(, "columns": [0], "refs": [[-1]])",
        R"(, "columns": [4294967295], "refs": [[0]])",
        R"(, "columns": [0], "refs": [[0]], "more": 1)"}) {
    EXPECT_EQ(StatusOf(with(members)).code(), StatusCode::kInvalid) << members;
  }
  EXPECT_EQ(StatusOf(R"({"chunks": 3})").code(), StatusCode::kInvalid);
}

TEST(RowsRequest, ComesBackFromItsText) {
  RowsRequest request;
  request.table.dataset = "events";
  request.columns = {"x"};
  EXPECT_EQ(*ParseRowsRequest(request.ToJson()), request);
  request.as_chunk = true;
  EXPECT_EQ(*ParseRowsRequest(request.ToJson()), request);
}

TEST(RowsRequest, HasAChecksumOfItsDescriptorAndEachOfItsRows) {
  std::vector<uint64_t> rows{1, 2};
  Hash128 sum = RowsChecksum("d", rows);
  EXPECT_EQ(sum, RowsChecksum("d", rows));
  EXPECT_NE(sum, RowsChecksum("e", rows));
  EXPECT_NE(sum, RowsChecksum("d", std::vector<uint64_t>{1, 3}));
  EXPECT_NE(sum, RowsChecksum("d", std::vector<uint64_t>{2, 1}));
  EXPECT_NE(sum, RowsChecksum("d", std::vector<uint64_t>{1}));
}

TEST(Ticket, OfRandomBytesIsInvalid) {
  std::mt19937 random(7);
  std::string good = SomeChunks().ToJson();
  for (int i = 0; i < 20'000; ++i) {
    std::string text = good;
    for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    Status status = StatusOf(text);
    bool expected = status.ok() || status.code() == StatusCode::kInvalid ||
                    status.code() == StatusCode::kUnsupported;
    ASSERT_TRUE(expected) << text << ": " << status;
  }
}

}  // namespace
}  // namespace forebay::flight
