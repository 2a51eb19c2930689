#include "head/head_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/near_miss.h"
#include "cluster/json_fields.h"
#include "cluster/messages.h"
#include "cluster/work.h"
#include "head/metrics.h"
#include "head/views.h"
#include "wire/authenticate.h"

namespace forebay::head {
namespace {

using http::Reply;
using nlohmann::json;

// Listing and planning a large table takes minutes; whoever asks may give up before.
constexpr milliseconds kPinTimeout{600'000};

Reply Ok(const json& value) {
  return {.body = value.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"};
}

Reply Fail(const Status& status) {
  return {.status = cluster::HttpStatusOf(status.code()),
          .body = cluster::ErrorJson(status)};
}

template <typename T>
Reply OkOrFail(const Result<T>& result) {
  return result.ok() ? Ok(*result) : Fail(result.status());
}

Reply Text(int status, std::string text) {
  return {.status = status, .body = std::move(text), .content_type = "text/plain"};
}

std::vector<std::string_view> Parts(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    size_t end = std::min(path.find('/'), path.size());
    parts.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return parts;
}

// True where the path fits; what stood for the stars is in `open`.
bool Fits(std::string_view pattern, std::string_view path,
          std::vector<std::string>* open) {
  auto wanted = Parts(pattern);
  auto given = Parts(path);
  if (wanted.size() != given.size()) return false;
  open->clear();
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == "*") {
      open->emplace_back(given[i]);
    } else if (wanted[i] != given[i]) {
      return false;
    }
  }
  return true;
}

json DatasetAnswer(const Dataset& dataset, Versions& versions, Reign& reign) {
  json shown = ShownDataset(dataset);
  if (auto manifest = versions.Find(dataset.version); manifest.ok()) {
    shown["rows"] = manifest->row_count();
    shown["files"] = manifest->object_count();
  }
  auto roster = reign.members->roster();
  auto up = std::ranges::count(roster->members(), cluster::MemberState::kUp,
                               &cluster::Member::state);
  shown["note"] = ReplicasNote(dataset.replicas, static_cast<size_t>(up));
  return shown;
}

// Of a route that takes no body: what is in one would be ignored otherwise.
Status CheckEmpty(const std::string& body) {
  if (body.empty()) return Status::OK();
  auto fields = cluster::JsonFields::Parse(body, "this request");
  fields.RefuseUnknown();
  return fields.status();
}

Status CheckQuery(const http::Received& request, const char* known) {
  for (const auto& [name, value] : request.query) {
    if (name == known) continue;
    std::vector<std::string_view> names;
    if (*known != '\0') names.emplace_back(known);
    return Status::Invalid(fmt::format("{} {} has no parameter '{}'{}", request.method,
                                       request.path, name, DidYouMean(name, names)));
  }
  return Status::OK();
}

}  // namespace

const std::vector<HeadService::Route>& HeadService::Routes() {
  static const std::vector<Route> kRoutes = {
      {"POST", cluster::kHeartbeatPath, &HeadService::Heartbeat},
      {"POST", cluster::kRegisterPath, &HeadService::Register},
      {"POST", cluster::kLeavePath, &HeadService::Leave},
      {"GET", cluster::kRosterPath, &HeadService::GetRoster, "after"},
      {"GET", "/v1/nodes", &HeadService::ListNodes},
      {"GET", "/v1/nodes/*", &HeadService::GetNode},
      {"POST", "/v1/nodes/*/drain", &HeadService::DrainNode},
      {"POST", "/v1/datasets", &HeadService::CreateDataset},
      {"GET", "/v1/datasets", &HeadService::ListDatasets},
      {"GET", "/v1/datasets/*", &HeadService::GetDataset},
      {"DELETE", "/v1/datasets/*", &HeadService::DeleteDataset},
      {"GET", "/v1/datasets/*/source", &HeadService::GetSource},
      {"POST", "/v1/datasets/*/refresh", &HeadService::RefreshDataset},
      {"POST", "/v1/datasets/*/warmup", &HeadService::WarmUpDataset},
      {"GET", "/v1/versions/*", &HeadService::GetVersion},
      {"GET", "/v1/versions/*/manifest", &HeadService::GetManifest},
      {"GET", "/v1/operations", &HeadService::ListOperations},
      {"GET", "/v1/operations/*", &HeadService::GetOperation},
      {"DELETE", "/v1/operations/*", &HeadService::CancelOperation},
      {"POST", "/v1/leases/*", &HeadService::Lease},
      {"GET", "/v1/jobs", &HeadService::ListJobs},
      {"GET", "/v1/status", &HeadService::GetStatus},
  };
  return kRoutes;
}

Reply HeadService::Answer(const http::Received& request) {
  Reply reply;
  try {
    reply = AnswerAny(request);
  } catch (const std::exception& error) {
    // One request must not end the head: it may be out of memory.
    spdlog::error("{} {} failed: {}", request.method, request.path, error.what());
    reply = Fail(Status::Internal("the head could not answer: see its log"));
  }
  Count(reply);
  return reply;
}

Reply HeadService::AnswerAny(const http::Received& request) {
  Status admitted =
      wire::Authenticate({.method = request.method + " " + request.path,
                          .peer = request.peer,
                          .credentials = std::string(request.Find("authorization"))});
  if (request.path == "/healthz") return Text(200, "ok\n");
  if (request.path == "/ready") return Ready();
  if (!admitted.ok()) return Fail(admitted);
  if (request.path == "/metrics") return Metrics();
  auto reign = head_->reign();
  return reign != nullptr ? AnswerAsLeader(request, *reign) : SendOn(request);
}

Reply HeadService::AnswerAsLeader(const http::Received& request, Reign& reign) {
  bool path_fits = false;
  std::vector<std::string> parts;
  bool reads = request.method == "GET" || request.method == "HEAD";
  for (const Route& route : Routes()) {
    if (!Fits(route.path, request.path, &parts)) continue;
    path_fits = true;
    bool fits =
        reads ? route.method == std::string_view("GET") : route.method == request.method;
    if (!fits) continue;
    Status query = CheckQuery(request, route.parameter);
    if (!query.ok()) return Fail(query);
    return (this->*route.answer)({request, reign, std::move(parts)});
  }
  Reply reply = Fail(Status::NotFound(
      fmt::format("the head has nothing at {} {}", request.method, request.path)));
  if (path_fits) reply.status = 405;
  return reply;
}

Reply HeadService::SendOn(const http::Received& request) const {
  std::string leader = head_->leader();
  if (leader.empty()) {
    return Fail(Status::Unavailable("no head leads right now: try again in a moment"));
  }
  Reply reply = Fail(Status::Unavailable("the head that leads is at " + leader));
  reply.status = 307;
  reply.headers.push_back({"Location", "http://" + leader + request.target});
  return reply;
}

// A head that follows is ready as well: it sends callers on.
Reply HeadService::Ready() const {
  return head_->leader().empty() ? Text(503, "not ready\n") : Text(200, "ready\n");
}

void HeadService::Count(const Reply& reply) {
  auto digit = static_cast<size_t>(reply.status / 100);
  ++replies_[std::min(digit, replies_.size() - 1)];
}

Reply HeadService::Metrics() {
  Counts counts{.heartbeats = heartbeats_};
  for (const auto& count : replies_) counts.replies.push_back(count);
  auto reign = head_->reign();
  Reply reply = Text(200, HeadMetrics(reign.get(), counts));
  reply.content_type = "text/plain; version=0.0.4";
  return reply;
}

Reply HeadService::Register(const Call& call) {
  auto message = cluster::ParseRegistration(call.request.body);
  if (!message.ok()) return Fail(message.status());
  auto registered = call.reign.members->Register(*message);
  if (!registered.ok()) return Fail(registered.status());
  spdlog::info("node {} at {} joined", message->id, message->flight);
  return {.body = cluster::ToJson(*registered)};
}

Reply HeadService::Heartbeat(const Call& call) {
  ++heartbeats_;
  auto message = cluster::ParseHeartbeat(call.request.body);
  if (!message.ok()) return Fail(message.status());
  auto answer = call.reign.members->Beat(*message);
  if (!answer.ok()) return Fail(answer.status());
  auto report = cluster::ParseNodeReport(message->report);
  if (report.ok() && !report->warmups.empty()) {
    call.reign.warmups->Report(message->id, report->warmups,
                               *call.reign.members->roster());
  }
  // Always: what is no longer wanted is given up.
  answer->orders = cluster::ToJson(call.reign.warmups->orders());
  return {.body = cluster::ToJson(*answer)};
}

Reply HeadService::Leave(const Call& call) {
  auto message = cluster::ParseHeartbeat(call.request.body);
  if (!message.ok()) return Fail(message.status());
  Status left = call.reign.members->Leave(*message);
  return left.ok() ? Ok(json::object()) : Fail(left);
}

Reply HeadService::GetRoster(const Call& call) {
  uint64_t epoch = 0;
  if (auto after = call.request.query.find("after"); after != call.request.query.end()) {
    const std::string& text = after->second;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), epoch);
    if (error != std::errc() || end != text.data() + text.size()) {
      return Fail(Status::Invalid("after is the epoch of a roster, a whole number"));
    }
  }
  return {.body = cluster::ToJson(cluster::HeartbeatAnswer{
              .roster = call.reign.members->RosterAfter(epoch)})};
}

Reply HeadService::ListNodes(const Call& call) {
  json nodes = json::array();
  for (const auto& node : call.reign.members->nodes()) nodes.push_back(NodeView(node));
  return Ok({{"nodes", nodes}});
}

Reply HeadService::GetNode(const Call& call) {
  for (const auto& node : call.reign.members->nodes()) {
    if (node.member.id == call.parts[0]) return Ok(NodeView(node));
  }
  return Fail(Status::NotFound(fmt::format("the head knows no node {}", call.parts[0])));
}

Reply HeadService::DrainNode(const Call& call) {
  Status empty = CheckEmpty(call.request.body);
  if (!empty.ok()) return Fail(empty);
  Reply before = GetNode(call);
  Status drained = call.reign.members->Drain(call.parts[0]);
  if (!drained.ok()) return Fail(drained);
  spdlog::info("node {} is drained", call.parts[0]);
  Reply after = GetNode(call);
  if (after.status != 404 || before.status == 404) return after;
  // One that was down is gone at once.
  json gone = json::parse(before.body, nullptr, /*allow_exceptions=*/false);
  gone["state"] = MemberStateName(cluster::MemberState::kGone);
  return Ok(gone);
}

Reply HeadService::Lease(const Call& call) {
  return OkOrFail(call.reign.leases->Answer(call.parts[0], call.request.body));
}

Reply HeadService::CreateDataset(const Call& call) {
  auto wanted = ParseNewDataset(call.request.body);
  if (!wanted.ok()) return Fail(wanted.status());
  auto made = call.reign.datasets->Create(*wanted, Deadline::After(kPinTimeout));
  if (!made.ok()) return Fail(made.status());
  spdlog::info("dataset {} is version {}", made->name, made->version);
  return Ok(DatasetAnswer(*made, head_->versions(), call.reign));
}

Reply HeadService::ListDatasets(const Call& call) {
  auto datasets = call.reign.datasets->List();
  if (!datasets.ok()) return Fail(datasets.status());
  json shown = json::array();
  for (const Dataset& dataset : *datasets) {
    shown.push_back(DatasetAnswer(dataset, head_->versions(), call.reign));
  }
  return Ok({{"datasets", shown}});
}

Reply HeadService::GetDataset(const Call& call) {
  auto dataset = call.reign.datasets->Get(call.parts[0]);
  if (!dataset.ok()) return Fail(dataset.status());
  return Ok(DatasetAnswer(*dataset, head_->versions(), call.reign));
}

// With credentials: for nodes, which read the source.
Reply HeadService::GetSource(const Call& call) {
  auto dataset = call.reign.datasets->Get(call.parts[0]);
  if (!dataset.ok()) return Fail(dataset.status());
  return {.body = DatasetJson(*dataset)};
}

Reply HeadService::DeleteDataset(const Call& call) {
  Status deleted = call.reign.datasets->Delete(call.parts[0]);
  return deleted.ok() ? Ok(json::object()) : Fail(deleted);
}

Reply HeadService::RefreshDataset(const Call& call) {
  Status empty = CheckEmpty(call.request.body);
  if (!empty.ok()) return Fail(empty);
  auto dataset =
      call.reign.datasets->Refresh(call.parts[0], Deadline::After(kPinTimeout));
  if (!dataset.ok()) return Fail(dataset.status());
  return Ok(DatasetAnswer(*dataset, head_->versions(), call.reign));
}

Reply HeadService::WarmUpDataset(const Call& call) {
  Status empty = CheckEmpty(call.request.body);
  if (!empty.ok()) return Fail(empty);
  auto dataset = call.reign.datasets->Get(call.parts[0]);
  if (!dataset.ok()) return Fail(dataset.status());
  auto manifest = head_->versions().Recall(*dataset, Deadline::After(kPinTimeout));
  if (!manifest.ok()) return Fail(manifest.status());
  auto operation =
      call.reign.warmups->Start(*dataset, *manifest, *call.reign.members->roster());
  if (!operation.ok()) return Fail(operation.status());
  Reply reply = Ok(OperationView(*operation));
  reply.status = 202;
  return reply;
}

Reply HeadService::GetVersion(const Call& call) {
  auto manifest = head_->versions().Find(call.parts[0]);
  return manifest.ok() ? Ok(VersionView(*manifest)) : Fail(manifest.status());
}

Reply HeadService::GetManifest(const Call& call) {
  auto manifest = head_->versions().Find(call.parts[0]);
  if (manifest.status().code() == StatusCode::kNotFound) {
    // Lost with the state directory, say: a dataset that has this version can tell.
    auto datasets = call.reign.datasets->List();
    if (!datasets.ok()) return Fail(datasets.status());
    for (const Dataset& dataset : *datasets) {
      if (dataset.version != call.parts[0]) continue;
      manifest = head_->versions().Recall(dataset, Deadline::After(kPinTimeout));
      break;
    }
  }
  if (!manifest.ok()) return Fail(manifest.status());
  return {.content_type = "application/octet-stream",
          .view = manifest->bytes(),
          .owner = manifest->owner()};
}

Reply HeadService::ListOperations(const Call& call) {
  json shown = json::array();
  for (const Operation& operation : call.reign.warmups->List()) {
    shown.push_back(OperationView(operation));
  }
  return Ok({{"operations", shown}});
}

Reply HeadService::GetOperation(const Call& call) {
  auto operation = call.reign.warmups->Get(call.parts[0]);
  return operation.ok() ? Ok(OperationView(*operation)) : Fail(operation.status());
}

Reply HeadService::CancelOperation(const Call& call) {
  auto operation = call.reign.warmups->Cancel(call.parts[0]);
  return operation.ok() ? Ok(OperationView(*operation)) : Fail(operation.status());
}

Reply HeadService::ListJobs(const Call& call) {
  return Ok({{"jobs", JobsView(call.reign.members->nodes())}});
}

Reply HeadService::GetStatus(const Call& call) {
  auto view = StatusView(call.reign, head_->versions());
  if (view.ok()) (*view)["leader"] = head_->leader();
  return OkOrFail(view);
}

}  // namespace forebay::head
