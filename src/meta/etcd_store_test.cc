// What the store makes of answers that are lost, odd or refused, by an etcd that does as
// it is told. The real one is in meta_store_test.cc and stores_test.cc.
#include "meta/etcd_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "http/server.h"
#include "meta/base64.h"

namespace forebay::meta {
namespace {

using nlohmann::json;

// As much of etcd's JSON gateway as the store calls, in this process.
class FakeEtcd {
 public:
  FakeEtcd()
      : server_(http::Server::Start({}, [this](const http::Received& request) {
                  return Answer(request);
                }).ValueOrDie()) {}

  std::string url() const {
    return "http://127.0.0.1:" + std::to_string(server_->port());
  }
  // A store with that many ways to this etcd: one attempt each.
  std::unique_ptr<EtcdStore> Store(size_t endpoints = 2) const {
    return EtcdStore::Make({.endpoints = std::vector(endpoints, url())}).ValueOrDie();
  }
  void Set(const std::string& key, const std::string& value) {
    std::lock_guard lock(mutex_);
    pairs_["forebay/" + key] = {value, ++revision_};
  }
  std::string Raw(const std::string& key) {
    std::lock_guard lock(mutex_);
    return pairs_.at("forebay/" + key).value;
  }

  std::atomic<int> calls{0};
  // Instead of its own answer, with the number of the call, from 0.
  std::function<std::optional<http::Reply>(int call, const http::Received&)> instead;
  // After a transaction was carried out, with its number: the answer that is sent.
  std::function<http::Reply(int call, http::Reply answer)> afterwards;

 private:
  struct Pair {
    std::string value;
    uint64_t revision;
  };
  static json PairJson(const std::string& key, const Pair& pair) {
    return {{"key", Base64Encode(key)},
            {"value", Base64Encode(pair.value)},
            {"mod_revision", std::to_string(pair.revision)}};
  }
  json Range(const std::string& key) {
    json kvs = json::array();
    if (auto found = pairs_.find(key); found != pairs_.end()) {
      kvs.push_back(PairJson(key, found->second));
    }
    return {{"kvs", kvs}};
  }
  bool Holds(const json& compare) {
    auto found = pairs_.find(*Base64Decode(compare["key"].get<std::string>()));
    uint64_t revision = found == pairs_.end() ? 0 : found->second.revision;
    uint64_t wanted = std::stoull(compare["mod_revision"].get<std::string>());
    return compare["result"] == "EQUAL" ? revision == wanted : revision > wanted;
  }
  json Transact(const json& request) {
    bool holds = !request.contains("compare") || Holds(request["compare"][0]);
    json answer = {{"succeeded", holds}};
    const json& step = request[holds ? "success" : "failure"][0];
    if (step.contains("request_put")) {
      const json& put = step["request_put"];
      pairs_[*Base64Decode(put["key"].get<std::string>())] = {
          *Base64Decode(put["value"].get<std::string>()), ++revision_};
    } else if (step.contains("request_delete_range")) {
      pairs_.erase(*Base64Decode(step["request_delete_range"]["key"].get<std::string>()));
      ++revision_;
    } else {
      std::string key = *Base64Decode(step["request_range"]["key"].get<std::string>());
      answer["responses"] = json::array({{{"response_range", Range(key)}}});
    }
    answer["header"] = {{"revision", std::to_string(revision_)}};
    return answer;
  }
  http::Reply Answer(const http::Received& request) {
    int call = calls++;
    if (instead) {
      if (auto reply = instead(call, request)) return *reply;
    }
    json body = json::parse(request.body);
    http::Reply reply;
    {
      std::lock_guard lock(mutex_);
      reply.body = request.path == "/v3/kv/txn"
                       ? Transact(body).dump()
                       : Range(*Base64Decode(body["key"].get<std::string>())).dump();
    }
    return afterwards ? afterwards(call, reply) : reply;
  }

  std::mutex mutex_;
  std::map<std::string, Pair> pairs_;
  uint64_t revision_ = 10;
  std::unique_ptr<http::Server> server_;  // last: ends first
};

http::Reply Says(int status, const std::string& body) {
  return {.status = status, .body = body};
}

TEST(EtcdStore, KnowsItsOwnPutAgainWhenOnlyTheAnswerWasLost) {
  FakeEtcd etcd;
  etcd.afterwards = [](int call, http::Reply answer) {
    return call == 0 ? Says(503, "") : answer;
  };
  auto version = etcd.Store()->Put("term", "1", {.if_version = kAbsent});
  ASSERT_TRUE(version.ok()) << version.status();
  EXPECT_EQ(etcd.calls, 2);
  Entry entry = etcd.Store()->Get("term").ValueOrDie();
  EXPECT_EQ(entry.value, "1");
  EXPECT_EQ(entry.version, *version);
}

TEST(EtcdStore, TellsItsPutFromTheSameValueWrittenByAnother) {
  FakeEtcd etcd;
  auto other = etcd.Store(1);
  // The first attempt is lost on its way, and another head is faster than the second.
  etcd.instead = [&](int call, const http::Received&) -> std::optional<http::Reply> {
    if (call != 0) return std::nullopt;
    EXPECT_TRUE(other->Put("term", "1", {.if_version = kAbsent}).ok());
    return Says(503, "");
  };
  auto version = etcd.Store()->Put("term", "1", {.if_version = kAbsent});
  EXPECT_EQ(version.status().code(), StatusCode::kChanged)
      << "two heads believe that they wrote the term";
  EXPECT_EQ(etcd.calls, 3);
}

TEST(EtcdStore, GivesThePutOfAnotherAsAChange) {
  FakeEtcd etcd;
  auto store = etcd.Store();
  uint64_t version = store->Put("a", "1", {}).ValueOrDie();
  EXPECT_EQ(store->Put("a", "1", {.if_version = kAbsent}).status().code(),
            StatusCode::kChanged);
  EXPECT_GT(store->Put("a", "1", {.if_version = version}).ValueOrDie(), version);
}

TEST(EtcdStore, ReadsValuesWithAndWithoutAMark) {
  FakeEtcd etcd;
  auto store = etcd.Store();
  for (const char* value : {"", "{}", "x\n#0123", "x\n#0123456789abcdeg",
                            "#0123456789abcdef", "x\n#0123456789abcdef0"}) {
    etcd.Set("old", value);
    EXPECT_EQ(store->Get("old").ValueOrDie().value, value) << "of an earlier release";
    ASSERT_TRUE(store->Put("new", value, {}).ok());
    EXPECT_EQ(store->Get("new").ValueOrDie().value, value);
  }
  ASSERT_TRUE(store->Put("a", "x\n#0123456789abcdef", {}).ok());
  EXPECT_EQ(store->Get("a").ValueOrDie().value, "x\n#0123456789abcdef");
  std::string first = etcd.Raw("a");
  ASSERT_TRUE(store->Put("a", "x\n#0123456789abcdef", {}).ok());
  EXPECT_NE(etcd.Raw("a"), first) << "each write has a mark of its own";
}

TEST(EtcdStore, TakesALostAnswerToADeletionForDone) {
  FakeEtcd etcd;
  etcd.Set("a", "1");
  etcd.afterwards = [](int call, http::Reply answer) {
    return call == 0 ? Says(503, "") : answer;
  };
  EXPECT_TRUE(etcd.Store()->Delete("a", {}).ok());
  EXPECT_EQ(etcd.Store()->Delete("a", {}).code(), StatusCode::kNotFound);
}

TEST(EtcdStore, SurvivesAnswersThatMakeNoSense) {
  FakeEtcd etcd;
  auto store = etcd.Store(1);
  for (const char* body :
       {"", "[]", "5", R"({"kvs": [5]})", R"({"kvs": [{"key": 5, "value": {}}]})",
        R"({"kvs": [{"key": "Zm9yZWJheS9h", "value": "!", "mod_revision": "1"}]})",
        R"({"kvs": [{"key": "YQ==", "value": "YQ==", "mod_revision": "1"}]})",
        R"({"kvs": [{"key": "Zm9yZWJheS9h", "value": "YQ=="}]})"}) {
    etcd.instead = [&](int, const http::Received&) { return Says(200, body); };
    EXPECT_EQ(store->Get("a").status().code(), StatusCode::kCorrupt) << body;
    auto listing = store->List("a");
    EXPECT_FALSE(listing.ok()) << body;
    EXPECT_FALSE(store->Put("a", "1", {.if_version = kAbsent}).ok()) << body;
    EXPECT_FALSE(store->GrantLease(milliseconds(1)).ok()) << body;
    EXPECT_FALSE(store->KeepAlive(5).ok()) << body;
  }
  etcd.instead = [](int, const http::Received&) {
    return Says(400, R"({"code": "x", "message": 5})");
  };
  EXPECT_EQ(store->Get("a").status().code(), StatusCode::kInvalid);
}

TEST(EtcdStore, KeepsTheMeaningOfRefusals) {
  FakeEtcd etcd;
  auto store = etcd.Store(1);
  auto code = [&](int status, const std::string& body) {
    etcd.instead = [&](int, const http::Received&) { return Says(status, body); };
    return store->Get("a").status().code();
  };
  auto grpc = [](int number) { return R"({"code": )" + std::to_string(number) + "}"; };
  for (int number : {3, 9, 11}) EXPECT_EQ(code(400, grpc(number)), StatusCode::kInvalid);
  EXPECT_EQ(code(404, grpc(5)), StatusCode::kNotFound);
  for (int number : {7, 16}) {
    EXPECT_EQ(code(400, grpc(number)), StatusCode::kPermission) << number;
  }
  for (int number : {4, 8, 14}) {
    EXPECT_EQ(code(400, grpc(number)), StatusCode::kUnavailable) << number;
  }
  EXPECT_EQ(code(400, grpc(12)), StatusCode::kUnsupported);
  EXPECT_EQ(code(401, ""), StatusCode::kPermission);
  EXPECT_EQ(code(403, ""), StatusCode::kPermission);
  EXPECT_EQ(code(404, ""), StatusCode::kUnsupported);
  EXPECT_EQ(code(400, ""), StatusCode::kInvalid);
  EXPECT_EQ(code(500, ""), StatusCode::kUnavailable);
  etcd.instead = [](int, const http::Received&) {
    return Says(400, R"({"code": 3, "message": "because"})");
  };
  EXPECT_NE(store->Get("a").status().message().find("because"), std::string::npos);
}

TEST(EtcdStore, AsksTheNextEndpointOnlyWhereThatCanHelp) {
  FakeEtcd etcd;
  auto store = etcd.Store(3);
  etcd.instead = [](int, const http::Received&) { return Says(400, R"({"code": 3})"); };
  EXPECT_FALSE(store->Get("a").ok());
  EXPECT_EQ(etcd.calls, 1) << "a refusal is an answer";
  etcd.calls = 0;
  etcd.instead = [](int, const http::Received&) { return Says(503, ""); };
  EXPECT_EQ(store->Get("a").status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(etcd.calls, 3);
}

TEST(EtcdStore, StaysWithTheEndpointThatAnswered) {
  FakeEtcd dead, alive;
  dead.instead = [](int, const http::Received&) { return Says(503, ""); };
  auto store = EtcdStore::Make({.endpoints = {dead.url(), alive.url()}}).ValueOrDie();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(store->Put("a", "1", {}).ok());
  EXPECT_EQ(dead.calls, 1);
  EXPECT_EQ(alive.calls, 3);
}

TEST(EtcdStore, SignsInOnceAndAgainWhenItsTokenRanOut) {
  FakeEtcd etcd;
  etcd.Set("a", "1");
  std::atomic<int> sign_ins{0};
  std::atomic<int> valid{1};
  etcd.instead = [&](int, const http::Received& request) -> std::optional<http::Reply> {
    if (request.path == "/v3/auth/authenticate") {
      EXPECT_EQ(request.Find("authorization"), "");
      EXPECT_EQ(json::parse(request.body),
                (json{{"name", "me"}, {"password", "secret"}}));
      return Says(200, R"({"token": "t)" + std::to_string(++sign_ins) + R"("})");
    }
    if (request.Find("authorization") != "t" + std::to_string(valid)) {
      return Says(401, R"({"code": 16, "message": "etcdserver: invalid auth token"})");
    }
    return std::nullopt;
  };
  auto store =
      EtcdStore::Make({.endpoints = {etcd.url()}, .user = "me", .password = "secret"})
          .ValueOrDie();
  EXPECT_TRUE(store->Get("a").ok());
  EXPECT_TRUE(store->Get("a").ok());
  EXPECT_EQ(sign_ins, 1);
  valid = 2;
  EXPECT_TRUE(store->Get("a").ok()) << "the token ran out";
  EXPECT_EQ(sign_ins, 2);
  valid = 99;
  EXPECT_EQ(store->Get("a").status().code(), StatusCode::kPermission);
  EXPECT_EQ(sign_ins, 3) << "it does not go on for ever";
  etcd.instead = [](int, const http::Received&) { return Says(200, "{}"); };
  auto without = EtcdStore::Make({.endpoints = {etcd.url()}, .user = "me"}).ValueOrDie();
  EXPECT_EQ(without->Get("a").status().code(), StatusCode::kCorrupt) << "no token";
}

TEST(EtcdStore, AsksForLeasesInWholeSecondsRoundedUp) {
  FakeEtcd etcd;
  std::vector<std::string> ttls;
  etcd.instead = [&](int, const http::Received& request) {
    json body = json::parse(request.body);
    if (body.contains("TTL")) ttls.push_back(body["TTL"]);
    return Says(200, R"({"ID": "-7", "result": {"TTL": "1"}})");
  };
  auto store = etcd.Store(1);
  for (int ms : {1, 1'000, 1'001, 3'000}) {
    EXPECT_EQ(store->GrantLease(milliseconds(ms)).ValueOrDie(), -7);
  }
  EXPECT_EQ(ttls, (std::vector<std::string>{"1", "1", "2", "3"}));
  EXPECT_TRUE(store->KeepAlive(-7).ok());
}

}  // namespace
}  // namespace forebay::meta
