#include "cli/head_call.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <utility>

namespace forebay::cli {
namespace {

using nlohmann::json;

constexpr const char* kDefaultHead = "localhost:7070";
// Creating a dataset plans its table first.
constexpr milliseconds kTimeout = std::chrono::minutes(11);

Result<json> AsJson(Result<std::string> answer) {
  if (!answer.ok()) return answer.status();
  json value = json::parse(*answer, nullptr, /*allow_exceptions=*/false);
  if (!value.is_object()) return Status::Corrupt("the head's answer is not JSON");
  return value;
}

}  // namespace

void AddHeadOption(CLI::App& app, std::string* heads) {
  app.add_option("--head", *heads,
                 "the cluster's head, or several: host:7070,other:7070 (default: "
                 "FOREBAY_HEAD, else localhost:7070)")
      ->option_text("HOST:PORT");
}

Result<HeadCall> HeadCall::To(const std::string& heads) {
  const char* given = std::getenv("FOREBAY_HEAD");
  std::string text = !heads.empty() ? heads : given != nullptr ? given : kDefaultHead;
  FB_ASSIGN_OR_RETURN(auto client,
                      cluster::HeadClient::Make({.heads = cluster::SplitHeads(text),
                                                 .attempt_timeout = kTimeout}));
  return HeadCall(std::move(client));
}

Result<json> HeadCall::Get(const std::string& path) {
  return AsJson(client_->Get(path, Deadline::After(kTimeout)));
}

Result<json> HeadCall::Post(const std::string& path, const json& body) {
  return AsJson(client_->Post(path, body.dump(), Deadline::After(kTimeout)));
}

Result<json> HeadCall::Delete(const std::string& path) {
  return AsJson(client_->Delete(path, Deadline::After(kTimeout)));
}

std::string TextIn(const json& object, const char* name) {
  if (!object.is_object()) return {};
  auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

uint64_t NumberIn(const json& object, const char* name) {
  if (!object.is_object()) return 0;
  auto found = object.find(name);
  bool fits = found != object.end() && found->is_number_unsigned();
  return fits ? found->get<uint64_t>() : 0;
}

double RealIn(const json& object, const char* name) {
  if (!object.is_object()) return 0;
  auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

const json& ListIn(const json& object, const char* name) {
  static const json kNone = json::array();
  if (!object.is_object()) return kNone;
  auto found = object.find(name);
  return found != object.end() && found->is_array() ? *found : kNone;
}

}  // namespace forebay::cli
