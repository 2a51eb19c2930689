#include "head/head_service.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/aged_tree.h"

namespace forebay::head {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class HeadServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_.path() + "/state");
    head_ = Head::Start({.meta = "memory:",
                         .state = folder_.path() + "/state",
                         .address = "here:7070"})
                .ValueOrDie();
    service_ = std::make_unique<HeadService>(head_.get());
  }
  struct Said {
    int status;
    json body;
    std::string message;  // of the error
  };
  Said Call(const std::string& method, const std::string& target,
            const std::string& body = "") {
    http::Received request{.method = method, .target = target, .body = body};
    size_t mark = std::min(target.find('?'), target.size());
    request.path = target.substr(0, mark);
    if (mark < target.size()) {
      std::string pair = target.substr(mark + 1);
      request.query[pair.substr(0, pair.find('='))] = pair.substr(pair.find('=') + 1);
    }
    http::Reply reply = service_->Answer(request);
    json answer = json::parse(reply.owner ? reply.view : reply.body, nullptr, false);
    std::string message;
    if (answer.is_object() && answer.contains("error"))
      message = answer["error"]["message"];
    return {reply.status, answer, message};
  }
  Said Post(const std::string& target, const json& body) {
    return Call("POST", target, body.dump());
  }
  json Wish(json more = json::object()) const {
    json wish = {{"name", "d"}, {"kind", "files"}, {"source", tree_}};
    wish.update(more);
    return wish;
  }
  // What a node reports that has work; `more` is added.
  json BusyNode(const json& more) const {
    json job = {
        {"job", "run"}, {"version", "v"}, {"epoch", 1}, {"position", 5}, {"rows", 20}};
    json tier = {{"name", "mem"}, {"used_bytes", 3}, {"capacity_bytes", 9}};
    json report = {{"counters", {{"chunk_hits_total", 3}, {"chunk_misses_total", 1}}},
                   {"jobs", json::array({job})},
                   {"tiers", json::array({tier})}};
    report.update(more);
    return report;
  }
  json Node(const std::string& id, const std::string& instance = "1") const {
    return {{"id", id},
            {"instance", instance},
            {"host", "h"},
            {"flight", "h:1"},
            {"weight", 1}};
  }
  uint64_t Join(const std::string& id, const std::string& instance = "1") {
    return Post("/v1/nodes/register", Node(id, instance)).body["fence"];
  }
  Said Beat(const std::string& id, uint64_t fence, json report = json::object()) {
    return Post("/v1/nodes/heartbeat", {{"id", id},
                                        {"fence", fence},
                                        {"roster_epoch", 0},
                                        {"report", std::move(report)}});
  }

  testing_support::TempFolder folder_;
  std::string tree_ = testing_support::AgedTree("one");
  std::unique_ptr<Head> head_;
  std::unique_ptr<HeadService> service_;
};

TEST_F(HeadServiceTest, RefusesUnknownMembersOnEveryRoute) {
  ASSERT_EQ(Post("/v1/datasets", Wish()).status, 200);
  Join("a");
  auto refused = [this](const std::string& target, json body, const std::string& said) {
    Said answer = Post(target, body);
    EXPECT_EQ(answer.status, 400) << target;
    EXPECT_NE(answer.message.find(said), std::string::npos)
        << target << ": " << answer.message;
  };
  refused("/v1/datasets", Wish({{"name", "e"}, {"colums", {"x"}}}),
          "'colums'; did you mean columns?");
  refused("/v1/datasets/d/refresh", {{"force", true}}, "'force'");
  refused("/v1/datasets/d/warmup", {{"replicas", 2}}, "'replicas'");
  refused("/v1/nodes/a/drain", {{"now", true}}, "'now'");
  json node = Node("b");
  node["hots"] = "h";
  refused("/v1/nodes/register", node, "'hots'; did you mean host?");
  refused("/v1/nodes/heartbeat",
          {{"id", "a"}, {"fence", 1}, {"roster_epoch", 0}, {"reports", {}}},
          "'reports'; did you mean report?");
  refused("/v1/nodes/leave",
          {{"id", "a"}, {"fence", 1}, {"roster_epoch", 0}, {"fences", 1}},
          "'fences'; did you mean fence?");
  refused("/v1/leases/take",
          {{"epoch", "e"},
           {"rows", 1},
           {"lease_rows", 1},
           {"lease_ms", 1},
           {"holder", "h"},
           {"lease_row", 1}},
          "'lease_row'; did you mean lease_rows?");
  EXPECT_EQ(Call("GET", "/v1/datasets").body["datasets"].size(), 1U);
  EXPECT_EQ(Call("GET", "/v1/operations").body["operations"].size(), 0U);
  EXPECT_EQ(Call("GET", "/v1/nodes/a").body["state"], "up");
}

TEST_F(HeadServiceTest, RefusesUnknownParametersOnEveryRoute) {
  for (const char* path : {"/v1/datasets", "/v1/nodes", "/v1/status", "/v1/jobs",
                           "/v1/operations", "/v1/roster"}) {
    Said answer = Call("GET", std::string(path) + "?limit=5");
    EXPECT_EQ(answer.status, 400) << path;
    EXPECT_NE(answer.message.find("no parameter 'limit'"), std::string::npos) << path;
    EXPECT_EQ(Call("GET", path).status, 200) << path;
  }
  EXPECT_NE(Call("GET", "/v1/roster?aftr=5").message.find("did you mean after?"),
            std::string::npos);
  EXPECT_EQ(Call("GET", "/v1/roster?after=x").status, 400);
  EXPECT_EQ(Call("GET", "/v1/roster?after=5x").status, 400);
}

TEST_F(HeadServiceTest, TakesCallsWithoutABodyAndWithAnEmptyOne) {
  ASSERT_EQ(Post("/v1/datasets", Wish()).status, 200);
  EXPECT_EQ(Call("POST", "/v1/datasets/d/refresh").status, 200);
  EXPECT_EQ(Call("POST", "/v1/datasets/d/refresh", "{}").status, 200);
  EXPECT_EQ(Call("POST", "/v1/datasets/d/warmup", "no JSON").status, 400);
  EXPECT_EQ(Call("POST", "/v1/datasets/d/warmup").status, 202);
}

TEST_F(HeadServiceTest, SaysWhatIsMissingForTheReplicas) {
  EXPECT_EQ(Post("/v1/datasets", Wish({{"replicas", 2}})).body["note"], "");
  Join("a");
  std::string note =
      "2 replicas are wanted, but 1 node is up: each row has 1 copy until 1 node more "
      "joins";
  EXPECT_EQ(Call("GET", "/v1/datasets/d").body["note"], note);
  EXPECT_EQ(Call("GET", "/v1/datasets").body["datasets"][0]["note"], note);
  EXPECT_EQ(Call("GET", "/v1/status").body["datasets"][0]["note"], note);
  EXPECT_EQ(Call("POST", "/v1/datasets/d/warmup").body["note"], note);
  Join("b");
  EXPECT_EQ(Call("GET", "/v1/datasets/d").body["note"], "");
}

TEST_F(HeadServiceTest, NamesWhatDiffersOnAConflict) {
  ASSERT_EQ(Post("/v1/datasets", Wish()).status, 200);
  Said taken = Post("/v1/datasets", Wish({{"replicas", 3}}));
  EXPECT_EQ(taken.status, 409);
  EXPECT_NE(taken.message.find("its number of replicas is 1, not 3"), std::string::npos);
}

TEST_F(HeadServiceTest, KnowsItsPathsAndMethods) {
  EXPECT_EQ(Call("GET", "/v1/nothing").status, 404);
  EXPECT_EQ(Call("GET", "/").status, 404);
  EXPECT_EQ(Call("GET", "/v1/datasets/a/b").status, 404);
  EXPECT_EQ(Call("PUT", "/v1/datasets").status, 405);
  EXPECT_EQ(Call("DELETE", "/v1/status").status, 405);
  EXPECT_EQ(Call("HEAD", "/v1/nodes").status, 200);
  EXPECT_EQ(Call("GET", "/healthz").status, 200);
  EXPECT_EQ(Call("GET", "/ready").status, 200);
  EXPECT_EQ(Call("GET", "/v1/datasets/no").status, 404);
  EXPECT_EQ(Call("GET", "/v1/nodes/no").status, 404);
  EXPECT_EQ(Call("POST", "/v1/nodes/no/drain").status, 404);
  EXPECT_EQ(Call("GET", "/v1/operations/no").status, 404);
  EXPECT_EQ(Call("DELETE", "/v1/operations/no").status, 404);
  EXPECT_EQ(Call("GET", "/v1/versions/" + std::string(32, 'a')).status, 404);
  EXPECT_EQ(Call("GET", "/v1/versions/" + std::string(32, 'a') + "/manifest").status,
            404);
  EXPECT_EQ(Call("GET", "/v1/versions/x").status, 400);
}

TEST_F(HeadServiceTest, ShowsADatasetAndItsVersion) {
  json made = Post("/v1/datasets", Wish({{"options", {{"file.links", "follow"}}}})).body;
  EXPECT_EQ(made["rows"], 1);
  EXPECT_EQ(made["files"], 1);
  EXPECT_EQ(made["kind"], "files");
  EXPECT_EQ(made["options"]["file.links"], "***") << "not known to be harmless";
  std::string version = made["version"];
  json shown = Call("GET", "/v1/versions/" + version).body;
  EXPECT_EQ(shown["rows"], 1);
  EXPECT_EQ(shown["file_bytes"], 3);
  EXPECT_EQ(shown["kind"], "files");
  EXPECT_EQ(Call("GET", "/v1/versions/" + version + "/manifest").status, 200);
  EXPECT_EQ(Call("GET", "/v1/datasets/d/source").body["options"]["file.links"], "follow");
  EXPECT_EQ(Call("DELETE", "/v1/datasets/d").status, 200);
  EXPECT_EQ(Call("DELETE", "/v1/datasets/d").status, 404);
}

TEST_F(HeadServiceTest, WarmsUpByWhatNodesReport) {
  ASSERT_EQ(Post("/v1/datasets", Wish()).status, 200);
  uint64_t fence = Join("a");
  json operation = Call("POST", "/v1/datasets/d/warmup").body;
  std::string id = operation["id"];
  EXPECT_EQ(operation["state"], "running");
  EXPECT_EQ(operation["percent"], 0);
  EXPECT_EQ(operation["waiting_for"], json::array({"a"}));
  json beat = Beat("a", fence).body;
  ASSERT_EQ(beat["orders"]["warmups"].size(), 1U);
  EXPECT_EQ(beat["orders"]["warmups"][0]["operation"], id);
  uint64_t units = operation["units"];
  json report = {{"operation", id},     {"roster_epoch", beat["roster"]["epoch"]},
                 {"done", true},        {"units", units},
                 {"units_done", units}, {"rows", 1},
                 {"rows_done", 1},      {"bytes_done", 3}};
  json held = {{"dataset", "d"},
               {"version", operation["version"]},
               {"cached_bytes", 3},
               {"cached_units", units}};
  Beat("a", fence,
       BusyNode({{"warmups", json::array({report})}, {"versions", json::array({held})}}));
  json ended = Call("GET", "/v1/operations/" + id).body;
  EXPECT_EQ(ended["state"], "done");
  EXPECT_EQ(ended["percent"], 100);
  EXPECT_EQ(ended["bytes_done"], 3);
  EXPECT_EQ(Beat("a", fence).body["orders"]["warmups"], json::array());
}

TEST_F(HeadServiceTest, ShowsAtAGlanceWhatNodesHold) {
  ASSERT_EQ(Post("/v1/datasets", Wish()).status, 200);
  uint64_t fence = Join("a");
  std::string version = Call("GET", "/v1/datasets/d").body["version"];
  json empty = Call("GET", "/v1/status").body;
  EXPECT_EQ(empty["datasets"][0]["phase"], "not cached");
  EXPECT_EQ(empty["datasets"][0]["cached_percent"], 0);
  EXPECT_TRUE(empty["hit_ratio"].is_null());
  EXPECT_EQ(empty["leader"], "here:7070");
  json held = {
      {{"dataset", "d"}, {"version", version}, {"cached_bytes", 3}, {"cached_units", 1}},
      {{"dataset", "d"},
       {"version", "another"},
       {"cached_bytes", 7},
       {"cached_units", 7}}};
  Beat("a", fence, BusyNode({{"versions", held}}));
  json status = Call("GET", "/v1/status").body;
  EXPECT_EQ(status["datasets"][0]["phase"], "cached");
  EXPECT_EQ(status["datasets"][0]["cached_percent"], 100);
  EXPECT_EQ(status["datasets"][0]["cached_bytes"], 3);
  EXPECT_EQ(status["hit_ratio"], 0.75);
  EXPECT_EQ(status["counters"]["chunk_hits_total"], 3);
  EXPECT_EQ(status["nodes"][0]["id"], "a");
  EXPECT_EQ(status["nodes"][0]["state"], "up");
  EXPECT_EQ(status["term"], head_->reign()->members->term());
  json jobs = Call("GET", "/v1/jobs").body["jobs"];
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0], (json{{"node", "a"},
                           {"job", "run"},
                           {"version", "v"},
                           {"epoch", 1},
                           {"position", 5},
                           {"rows", 20},
                           {"percent", 25.0}}));
  Call("POST", "/v1/datasets/d/warmup");
  EXPECT_EQ(Call("GET", "/v1/status").body["datasets"][0]["phase"], "loading");
}

TEST_F(HeadServiceTest, CountsAsManyCopiesAsThereCanBe) {
  ASSERT_EQ(Post("/v1/datasets", Wish({{"replicas", 2}})).status, 200);
  std::string version = Call("GET", "/v1/datasets/d").body["version"];
  uint64_t fence = Join("a");
  Beat("a", fence,
       {{"versions",
         {{{"dataset", "d"},
           {"version", version},
           {"cached_bytes", 3},
           {"cached_units", 1}}}}});
  json alone = Call("GET", "/v1/status").body["datasets"][0];
  EXPECT_EQ(alone["units"], 1) << "a node has a unit once";
  EXPECT_EQ(alone["cached_percent"], 100);
  Join("b");
  json both = Call("GET", "/v1/status").body["datasets"][0];
  EXPECT_EQ(both["units"], 2);
  EXPECT_EQ(both["cached_percent"], 50);
  EXPECT_EQ(both["phase"], "partly cached");
  Join("c");
  EXPECT_EQ(Call("GET", "/v1/status").body["datasets"][0]["units"], 2);
  Post("/v1/nodes/leave", {{"id", "a"}, {"fence", fence}, {"roster_epoch", 0}});
  EXPECT_EQ(Call("GET", "/v1/status").body["datasets"][0]["cached_units"], 0)
      << "of nodes that are up";
}

TEST_F(HeadServiceTest, CountsForPrometheus) {
  ASSERT_EQ(Post("/v1/datasets", Wish()).status, 200);
  uint64_t fence = Join("a");
  Join("b");
  Beat("a", fence, {{"tiers", {{{"name", "m\"em"}, {"used_bytes", 3}}}}});
  Call("POST", "/v1/datasets/d/warmup");
  Call("POST", "/v1/nodes/b/drain");
  Call("GET", "/v1/nothing");
  http::Received request{.method = "GET", .path = "/metrics", .target = "/metrics"};
  std::string text = service_->Answer(request).body;
  for (const char* line :
       {"forebay_head_leads 1\n", "forebay_head_heartbeats_total 1\n",
        "forebay_head_datasets 1\n", "forebay_head_nodes{state=\"up\"} 1\n",
        "forebay_head_nodes{state=\"draining\"} 1\n",
        "forebay_head_nodes{state=\"down\"} 0\n",
        "forebay_head_operations{state=\"running\"} 1\n",
        "forebay_head_replies_total{status=\"4xx\"} 1\n",
        "forebay_head_replies_total{status=\"2xx\"} 6\n",
        "forebay_head_store_used_bytes{node=\"a\",tier=\"m\\\"em\"} 3\n"}) {
    EXPECT_NE(text.find(line), text.npos) << line << text;
  }
}

TEST_F(HeadServiceTest, DrainsANodeThatIsUpAndOneThatIsDown) {
  uint64_t fence = Join("a");
  Join("b");
  EXPECT_EQ(Call("POST", "/v1/nodes/b/drain").body["state"], "draining");
  EXPECT_EQ(Post("/v1/nodes/leave", {{"id", "a"}, {"fence", fence}, {"roster_epoch", 0}})
                .status,
            200);
  EXPECT_EQ(Call("GET", "/v1/nodes/a").body["state"], "down");
  EXPECT_EQ(Call("POST", "/v1/nodes/a/drain").body["state"], "gone");
  EXPECT_EQ(Call("GET", "/v1/nodes/a").status, 404);
}

TEST_F(HeadServiceTest, FencesAnOlderProcess) {
  uint64_t older = Join("a", "1");
  uint64_t newer = Join("a", "2");
  EXPECT_GT(newer, older);
  EXPECT_EQ(Beat("a", older).status, 409);
  EXPECT_EQ(Beat("a", newer).status, 200);
  EXPECT_EQ(Beat("x", 1).status, 404);
}

TEST_F(HeadServiceTest, GivesARosterOnlyToWhoHasAnother) {
  Join("a");
  json roster = Call("GET", "/v1/roster").body["roster"];
  EXPECT_EQ(roster["members"].size(), 1U);
  std::string epoch = std::to_string(roster["epoch"].get<uint64_t>());
  EXPECT_FALSE(Call("GET", "/v1/roster?after=" + epoch).body.contains("roster"));
  EXPECT_TRUE(Call("GET", "/v1/roster?after=1").body.contains("roster"));
}

TEST_F(HeadServiceTest, SurvivesBodiesThatAreNestedDeeply) {
  std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  for (const char* path : {"/v1/datasets", "/v1/nodes/register", "/v1/nodes/heartbeat",
                           "/v1/nodes/leave", "/v1/leases/take"}) {
    EXPECT_EQ(Call("POST", path, R"({"id": "a", "report": {"x": )" + deep + "}}").status,
              400)
        << path;
  }
}

}  // namespace
}  // namespace forebay::head
