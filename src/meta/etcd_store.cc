#include "meta/etcd_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <thread>
#include <utility>

#include "http/message.h"
#include "meta/base64.h"
#include "meta/store_errors.h"

namespace forebay::meta {
namespace {

using nlohmann::json;

// A stream that is silent for 30 s is taken for dead further below: it is begun anew in
// time.
constexpr milliseconds kWatchTimeMax{20'000};
// Where watching fails, changes are seen by looking.
constexpr milliseconds kLook{200};

// The gateway writes 64-bit numbers as texts and leaves zeros out.
int64_t NumberIn(const json& object, const char* name) {
  if (!object.is_object()) return 0;
  auto found = object.find(name);
  if (found == object.end()) return 0;
  if (found->is_number_integer()) return found->get<int64_t>();
  if (!found->is_string()) return 0;
  const auto& text = found->get_ref<const std::string&>();
  bool negative = text.starts_with('-');
  int64_t number = http::ParseNumber(text.substr(negative ? 1 : 0)).value_or(0);
  return negative ? -number : number;
}

const json& In(const json& object, const char* name) {
  static const json kNothing = json::object();
  if (!object.is_object()) return kNothing;
  auto found = object.find(name);
  return found == object.end() ? kNothing : *found;
}

uint64_t RevisionOf(const json& answer) {
  return static_cast<uint64_t>(NumberIn(In(answer, "header"), "revision"));
}

bool Succeeded(const json& answer) {
  const json& succeeded = In(answer, "succeeded");
  return succeeded.is_boolean() && succeeded.get<bool>();
}

// The first key that does not begin with `prefix`. Never called with 0xFF at the end: our
// keys are text.
std::string EndOf(std::string prefix) {
  ++prefix.back();
  return prefix;
}

// What a transaction that was refused read instead.
const json& KeysRead(const json& answer) {
  const json& responses = In(answer, "responses");
  if (!responses.is_array() || responses.empty()) return In(json::object(), "kvs");
  return In(In(responses[0], "response_range"), "kvs");
}

json ListOf(json one) {
  json list = json::array();
  list.push_back(std::move(one));
  return list;
}

std::string Cut(std::string* text, char at) {
  size_t end = text->find(at);
  if (end == text->npos) return {};
  std::string tail = text->substr(end + 1);
  text->resize(end);
  return tail;
}

// Every value is written with a mark of its own behind it: that is how a writer whose
// answer was lost tells its value from the same one written by another.
constexpr std::string_view kMarkBegin = "\n#";
constexpr size_t kMarkBytes = kMarkBegin.size() + 16;

std::string NewMark() {
  std::random_device random;
  return fmt::format("{}{:08x}{:08x}", kMarkBegin, random(), random());
}

std::string WithoutMark(std::string text) {
  if (text.size() < kMarkBytes) return text;
  std::string_view mark = std::string_view(text).substr(text.size() - kMarkBytes);
  bool is_mark =
      mark.starts_with(kMarkBegin) &&
      mark.find_first_not_of("0123456789abcdef", kMarkBegin.size()) == mark.npos;
  if (is_mark) text.resize(text.size() - kMarkBytes);
  return text;
}

std::optional<std::string> BytesIn(const json& object, const char* name) {
  const json& text = In(object, name);
  if (text.is_string()) return Base64Decode(text.get_ref<const std::string&>());
  // The gateway leaves empty ones out.
  return text.is_object() ? std::optional<std::string>("") : std::nullopt;
}

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

EtcdStore::EtcdStore(EtcdOptions options)
    : prefix_(options.prefix), client_(std::move(options)) {}

Result<std::unique_ptr<EtcdStore>> EtcdStore::Make(EtcdOptions options) {
  if (options.endpoints.empty()) return Status::Invalid("no endpoint of etcd was given");
  return std::unique_ptr<EtcdStore>(new EtcdStore(std::move(options)));
}

Result<EtcdOptions> EtcdStore::ParseUri(const std::string& uri) {
  bool tls = uri.starts_with("etcds://");
  std::string rest = uri.substr(tls ? 8 : 7);
  std::string query = Cut(&rest, '?');
  std::string path = Cut(&rest, '/');
  EtcdOptions options{.user = Environment("FOREBAY_ETCD_USER"),
                      .password = Environment("FOREBAY_ETCD_PASSWORD")};
  if (!path.empty()) options.prefix = path.ends_with('/') ? path : path + "/";
  if (size_t at = rest.rfind('@'); at != rest.npos) {
    options.user = rest.substr(0, at);
    options.password = Cut(&options.user, ':');
    rest.erase(0, at + 1);
  }
  if (query.starts_with("ca=")) {
    options.ca_file = query.substr(3);
  } else if (!query.empty()) {
    return Status::Invalid("an address of etcd may end with ?ca=FILE and nothing else");
  }
  while (!rest.empty()) {
    std::string others = Cut(&rest, ',');
    if (!rest.empty()) {
      options.endpoints.push_back((tls ? "https://" : "http://") + rest);
    }
    rest = others;
  }
  if (options.endpoints.empty()) {
    return Status::Invalid("an address of etcd names its hosts: etcd://host:2379");
  }
  return options;
}

std::string EtcdStore::Encoded(const std::string& key) const {
  return Base64Encode(prefix_ + key);
}

Result<Entry> EtcdStore::EntryOf(const json& pair) const {
  auto key = BytesIn(pair, "key");
  auto value = BytesIn(pair, "value");
  auto version = static_cast<uint64_t>(NumberIn(pair, "mod_revision"));
  if (!key.has_value() || !value.has_value() || !key->starts_with(prefix_) ||
      version == kAbsent) {
    return Status::Corrupt("etcd gave a key that makes no sense");
  }
  return Entry{.key = key->substr(prefix_.size()),
               .value = WithoutMark(*std::move(value)),
               .version = version};
}

json EtcdStore::RangeOf(const std::string& prefix) const {
  return {{"key", Encoded(prefix)}, {"range_end", Base64Encode(EndOf(prefix_ + prefix))}};
}

json EtcdStore::CompareWith(const std::string& key, uint64_t version) const {
  return {{"key", Encoded(key)},
          {"target", "MOD"},
          {"result", "EQUAL"},
          {"mod_revision", std::to_string(version)}};
}

Result<Entry> EtcdStore::Get(const std::string& key) {
  FB_ASSIGN_OR_RETURN(auto answer, client_.Call("kv/range", {{"key", Encoded(key)}}));
  const json& pairs = In(answer.body, "kvs");
  if (!pairs.is_array() || pairs.empty()) return NoSuchKey(key);
  return EntryOf(pairs[0]);
}

// Ours all the same where the key holds what this call wrote: an attempt went through,
// only its answer was lost.
Result<uint64_t> EtcdStore::AfterRefusedPut(const json& answer, const std::string& key,
                                            const std::string& marked) const {
  const json& pairs = KeysRead(answer);
  if (pairs.is_array() && !pairs.empty() && BytesIn(pairs[0], "value") == marked) {
    return static_cast<uint64_t>(NumberIn(pairs[0], "mod_revision"));
  }
  return VersionChanged(key);
}

Result<uint64_t> EtcdStore::Put(const std::string& key, const std::string& value,
                                const PutOptions& options) {
  std::string marked = value + NewMark();
  json put = {{"key", Encoded(key)}, {"value", Base64Encode(marked)}};
  if (options.lease != kNoLease) put["lease"] = std::to_string(options.lease);
  json request = {{"success", ListOf({{"request_put", put}})},
                  {"failure", ListOf({{"request_range", {{"key", Encoded(key)}}}})}};
  if (options.if_version.has_value()) {
    request["compare"] = ListOf(CompareWith(key, *options.if_version));
  }
  auto answer = client_.Call("kv/txn", request);
  if (answer.status().code() == StatusCode::kNotFound) return NoSuchLease(options.lease);
  if (!answer.ok()) return answer.status();
  if (Succeeded(answer->body)) return RevisionOf(answer->body);
  return AfterRefusedPut(answer->body, key, marked);
}

Status EtcdStore::Delete(const std::string& key, std::optional<uint64_t> if_version) {
  json compare = CompareWith(key, if_version.value_or(kAbsent));
  // Without a version: whatever is there, as long as something is.
  if (!if_version.has_value()) compare["result"] = "GREATER";
  json request = {
      {"compare", ListOf(compare)},
      {"success", ListOf({{"request_delete_range", {{"key", Encoded(key)}}}})},
      {"failure", ListOf({{"request_range", {{"key", Encoded(key)}}}})}};
  FB_ASSIGN_OR_RETURN(auto answer, client_.Call("kv/txn", request));
  if (Succeeded(answer.body)) return Status::OK();
  const json& pairs = KeysRead(answer.body);
  if (pairs.is_array() && !pairs.empty()) return VersionChanged(key);
  return answer.repeated ? Status::OK() : NoSuchKey(key);
}

Result<Listing> EtcdStore::List(const std::string& prefix) {
  json request = RangeOf(prefix);
  request["sort_target"] = "KEY";
  request["sort_order"] = "ASCEND";
  FB_ASSIGN_OR_RETURN(auto answer, client_.Call("kv/range", request));
  Listing listing{.entries = {}, .revision = RevisionOf(answer.body)};
  const json& pairs = In(answer.body, "kvs");
  if (!pairs.is_array()) return listing;
  for (const json& pair : pairs) {
    FB_ASSIGN_OR_RETURN(Entry entry, EntryOf(pair));
    listing.entries.push_back(std::move(entry));
  }
  return listing;
}

// `revision` when nothing happened until the deadline.
Result<uint64_t> EtcdStore::Watch(const std::string& prefix, uint64_t revision,
                                  Deadline deadline) {
  json range = RangeOf(prefix);
  range["start_revision"] = std::to_string(revision + 1);
  uint64_t changed = revision;
  auto on_line = [&](const json& line) {
    const json& result = In(line, "result");
    const json& events = In(result, "events");
    bool ended = result.contains("canceled") || result.contains("compact_revision");
    if (!ended && (!events.is_array() || events.empty())) return true;
    // Ended, or compacted before we came: look again.
    changed = std::max(revision + 1, RevisionOf(result));
    return false;
  };
  Status status = client_.Stream("watch", {{"create_request", range}}, on_line, deadline);
  if (!status.ok() && status.code() != StatusCode::kDeadline) return status;
  return changed;
}

Result<uint64_t> EtcdStore::WaitForChange(const std::string& prefix, uint64_t revision,
                                          Deadline deadline) {
  while (!deadline.passed()) {
    auto time = std::min(kWatchTimeMax, deadline.Remaining());
    auto changed = Watch(prefix, revision, Deadline::After(time));
    if (changed.ok()) {
      if (*changed > revision) return *changed;
      continue;
    }
    // This also moves on to an endpoint that answers.
    FB_ASSIGN_OR_RETURN(Listing listing, List(prefix));
    if (listing.revision > revision) return listing.revision;
    std::this_thread::sleep_for(std::min(kLook, deadline.Remaining()));
  }
  return revision;
}

Result<LeaseId> EtcdStore::GrantLease(milliseconds ttl) {
  auto seconds = std::chrono::ceil<std::chrono::seconds>(ttl).count();
  FB_ASSIGN_OR_RETURN(auto answer,
                      client_.Call("lease/grant", {{"TTL", std::to_string(seconds)}}));
  LeaseId id = NumberIn(answer.body, "ID");
  if (id == kNoLease) return Status::Corrupt("etcd granted a lease without a number");
  return id;
}

Status EtcdStore::KeepAlive(LeaseId lease) {
  FB_ASSIGN_OR_RETURN(auto answer,
                      client_.Call("lease/keepalive", {{"ID", std::to_string(lease)}}));
  return NumberIn(In(answer.body, "result"), "TTL") > 0 ? Status::OK()
                                                        : NoSuchLease(lease);
}

Status EtcdStore::EndLease(LeaseId lease) {
  auto answer = client_.Call("lease/revoke", {{"ID", std::to_string(lease)}});
  if (answer.ok()) return Status::OK();
  bool gone = answer.status().code() == StatusCode::kNotFound;
  return gone ? NoSuchLease(lease) : answer.status();
}

}  // namespace forebay::meta
