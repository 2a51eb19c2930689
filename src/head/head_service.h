// The head over HTTP: REST for people and tools, and what nodes say to it. docs/api.yaml
// describes every path. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "head/head.h"
#include "http/server.h"

namespace forebay::head {

class HeadService {
 public:
  explicit HeadService(Head* head) : head_(head) {}

  // Never fails: errors are answers. Only the head that leads answers /v1/…; another one
  // sends on to it (307), or says that nobody leads (503).
  http::Reply Answer(const http::Received& request);

 private:
  // One call of a route: what was asked, by whom it is answered, the parts of the path
  // that the route leaves open.
  struct Call {
    const http::Received& request;
    Reign& reign;
    std::vector<std::string> parts;
  };
  struct Route {
    const char* method;
    const char* path;  // "*" stands for one part
    http::Reply (HeadService::*answer)(const Call& call);
    const char* parameter = "";  // of its query, the only one it may have
  };
  static const std::vector<Route>& Routes();

  http::Reply AnswerAny(const http::Received& request);
  http::Reply AnswerAsLeader(const http::Received& request, Reign& reign);
  http::Reply SendOn(const http::Received& request) const;
  http::Reply Ready() const;
  http::Reply Metrics();
  void Count(const http::Reply& reply);

  http::Reply Register(const Call& call);
  http::Reply Heartbeat(const Call& call);
  http::Reply Leave(const Call& call);
  http::Reply GetRoster(const Call& call);
  http::Reply ListNodes(const Call& call);
  http::Reply GetNode(const Call& call);
  http::Reply DrainNode(const Call& call);
  http::Reply Lease(const Call& call);
  http::Reply CreateDataset(const Call& call);
  http::Reply ListDatasets(const Call& call);
  http::Reply GetDataset(const Call& call);
  http::Reply GetSource(const Call& call);
  http::Reply DeleteDataset(const Call& call);
  http::Reply RefreshDataset(const Call& call);
  http::Reply WarmUpDataset(const Call& call);
  http::Reply GetVersion(const Call& call);
  http::Reply GetManifest(const Call& call);
  http::Reply ListOperations(const Call& call);
  http::Reply GetOperation(const Call& call);
  http::Reply CancelOperation(const Call& call);
  http::Reply ListJobs(const Call& call);
  http::Reply GetStatus(const Call& call);

  Head* head_;
  std::array<std::atomic<uint64_t>, 6> replies_{};  // by the first digit of the status
  std::atomic<uint64_t> heartbeats_{0};
};

}  // namespace forebay::head
