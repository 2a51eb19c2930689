#include "kubeflow/settings.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cstdlib>
#include <filesystem>

namespace forebay::kubeflow {
namespace {

constexpr uint64_t kLocalWorkers = 2;
constexpr uint64_t kGroupSizeMax = 100'000;
constexpr uint64_t kTimeoutSecondsMax = 86'400;
constexpr size_t kNameBytesMax = 128;

constexpr char kUsage[] =
    "start it as `head HOST PORT` or `worker HOST PORT`, as in: head 0.0.0.0 50051";

Result<uint64_t> ParseNumber(const std::string& what, const std::string& text,
                             uint64_t max) {
  uint64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  bool whole = error == std::errc() && end == text.data() + text.size();
  if (whole && number <= max) return number;
  return Status::Invalid(
      fmt::format("{} is '{}': it must be a whole number up to {}", what, text, max));
}

// Takes variables, and remembers the first that is wrong.
class Variables {
 public:
  explicit Variables(const Environment& environment) : environment_(environment) {}

  std::string Text(const char* name) const { return environment_(name).value_or(""); }
  std::string Needed(const char* name) {
    std::string text = Text(name);
    if (text.empty()) Fail(Status::Invalid(fmt::format("{} is not set", name)));
    return text;
  }
  uint64_t Number(const char* name, uint64_t usual, uint64_t max) {
    std::string text = Text(name);
    if (text.empty()) return usual;
    auto number = ParseNumber(name, text, max);
    if (!number.ok()) Fail(number.status());
    return number.ok() ? *number : usual;
  }
  void Fail(const Status& status) {
    if (status_.ok()) status_ = status;
  }
  const Status& status() const { return status_; }

 private:
  const Environment& environment_;
  Status status_;
};

std::optional<Role> RoleNamed(const std::string& name) {
  if (name == "head") return Role::kHead;
  if (name == "worker") return Role::kWorker;
  return std::nullopt;
}

// Names of tables may be any text, those of datasets may not.
std::string DatasetName(const std::string& schema, const std::string& table) {
  std::string name = schema.empty() ? table : schema + "." + table;
  for (char& c : name) {
    bool fits = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.';
    if (!fits) c = '_';
  }
  name.resize(std::min(name.size(), kNameBytesMax));
  return name.empty() || name == "." || name == ".." ? "table" : name;
}

void ReadHead(Variables& variables, Settings* out) {
  out->metadata = variables.Needed("METADATA_LOC");
  if (out->local) {
    out->workers = kLocalWorkers;
    return;
  }
  variables.Needed("LWS_GROUP_SIZE");
  uint64_t size = variables.Number("LWS_GROUP_SIZE", 0, kGroupSizeMax);
  if (size < 2) {
    variables.Fail(Status::Invalid(
        "LWS_GROUP_SIZE leaves no worker beside the head: set it to 2 or more"));
  }
  out->workers = size - 1;
}

void ReadWorker(Variables& variables, Settings* out) {
  out->pod_ip = variables.Text("POD_IP");
  out->memory = variables.Text("FOREBAY_MEMORY");
  if (out->local) {
    out->leader = "127.0.0.1";
    out->worker_id = fmt::format("worker-{}", out->port);
    return;
  }
  out->leader = variables.Needed("LWS_LEADER_ADDRESS");
  variables.Needed("LWS_WORKER_INDEX");
  uint64_t index = variables.Number("LWS_WORKER_INDEX", 0, kGroupSizeMax);
  out->worker_id = fmt::format("worker-{}", index);
}

}  // namespace

Environment ProcessEnvironment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return std::string(value);
  };
}

Result<Settings> ReadSettings(const std::vector<std::string>& words,
                              const Environment& environment) {
  size_t at = 0;
  std::optional<Role> role;
  if (!words.empty()) role = RoleNamed(std::filesystem::path(words[0]).filename());
  if (!role && words.size() > 1) role = RoleNamed(words[at = 1]);
  if (!role || words.size() != at + 3) return Status::Invalid(kUsage);
  Settings settings{.role = *role, .host = words[at + 1]};
  FB_ASSIGN_OR_RETURN(uint64_t port, ParseNumber("the port", words[at + 2], 65'535));
  settings.port = static_cast<int>(port);
  Variables variables(environment);
  settings.local = variables.Text("RUNTIME_ENV") == "LOCAL";
  settings.dataset =
      DatasetName(variables.Text("SCHEMA_NAME"), variables.Text("TABLE_NAME"));
  settings.connect_timeout = std::chrono::seconds(
      variables.Number("CONNECT_TIMEOUT_SECS", 20, kTimeoutSecondsMax));
  settings.health_port = static_cast<int>(variables.Number("HEALTH_PORT", 8080, 65'535));
  settings.control_port =
      static_cast<int>(variables.Number("FOREBAY_HEAD_PORT", 7070, 65'535));
  if (settings.role == Role::kHead) ReadHead(variables, &settings);
  if (settings.role == Role::kWorker) ReadWorker(variables, &settings);
  FB_RETURN_NOT_OK(variables.status());
  return settings;
}

}  // namespace forebay::kubeflow
