#include "cli/cluster/cluster_warmup.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/uri.h"
#include "cli/cluster/cluster_text.h"
#include "cli/cluster/head_call.h"
#include "cli/progress_meter.h"
#include "http/percent.h"

namespace forebay::cli {
namespace {

using nlohmann::json;

constexpr milliseconds kLook{200};
// Heads restart and take over from each other; an operation goes on meanwhile.
constexpr milliseconds kPatience = std::chrono::minutes(1);

// A plain name is a dataset's where a head was named, else where no file has it.
bool IsDatasetName(const std::string& text, bool head_is_named) {
  constexpr std::string_view kNotInNames = "/*?[]{}";  // paths and globs
  if (text.find_first_of(kNotInNames) != text.npos || text.starts_with('.')) return false;
  std::error_code error;
  return head_is_named || !std::filesystem::exists(text, error);
}

Result<json> Follow(HeadCall& head, json operation) {
  ProgressMeter meter(ProgressMeter::Stderr("warmup", "rows"));
  Deadline patience = Deadline::After(kPatience);
  std::string path = "/v1/operations/" + TextIn(operation, "id");
  std::string said;
  while (TextIn(operation, "state") == "running") {
    // While no node has a place there is nothing to load, which is not all there is.
    std::string reason = TextIn(operation, "reason");
    if (!reason.empty() && reason != said) {
      meter.End();
      Complain("the warm-up waits: " + Printable(reason));
    }
    said = reason;
    if (reason.empty()) {
      meter.Update({.done = NumberIn(operation, "rows_done"),
                    .total = NumberIn(operation, "rows"),
                    .bytes = NumberIn(operation, "bytes_done")});
    }
    std::this_thread::sleep_for(kLook);
    auto now = head.Get(path);
    if (now.ok()) {
      operation = *std::move(now);
      patience = Deadline::After(kPatience);
    } else if (!IsRetryable(now.status()) || patience.passed()) {
      return now.status();
    }
  }
  return operation;
}

}  // namespace

std::optional<ClusterDataset> ClusterDatasetOf(const std::string& uri,
                                               const std::string& head) {
  if (!uri.starts_with("forebay://")) {
    std::string given = GivenHeads(head);
    if (head.empty() && !IsDatasetName(uri, !given.empty())) return std::nullopt;
    return ClusterDataset{given, uri};
  }
  auto parsed = Uri::Parse(uri);
  if (!parsed.ok() || parsed->path.size() < 2) return std::nullopt;
  return ClusterDataset{parsed->authority, parsed->path.substr(1)};
}

OperationVerdict JudgeOperation(const json& operation) {
  OperationVerdict verdict;
  for (const json& failure : ListIn(operation, "failures")) {
    verdict.messages.push_back(
        Printable(fmt::format("could not load {}: {}", RedactUri(TextIn(failure, "file")),
                              TextIn(failure, "error"))));
  }
  std::string state = TextIn(operation, "state");
  if (state == "done" || state == "running") return verdict;
  verdict.code = state == "cancelled" ? ExitCode::kCancelled : ExitCode::kPartial;
  verdict.messages.push_back(
      state == "cancelled"
          ? "the warm-up was given up"
          : fmt::format("only {} of {} rows were loaded; run warmup again once the cause "
                        "is gone",
                        NumberIn(operation, "rows_done"), NumberIn(operation, "rows")));
  return verdict;
}

Result<ExitCode> WarmUpInCluster(const ClusterWarmup& request) {
  FB_ASSIGN_OR_RETURN(HeadCall head, HeadCall::To(request.dataset.head));
  if (request.dataset.head.empty() && !head.Answers()) {
    return Status::NotFound(fmt::format(
        "{} is no file here, and no head answers at localhost:7070 that may have a "
        "dataset of this name: give a path, or --head",
        request.dataset.name));
  }
  std::string path =
      "/v1/datasets/" + http::PercentEncode(request.dataset.name) + "/warmup";
  FB_ASSIGN_OR_RETURN(json operation, head.Post(path, json::object()));
  if (request.wait) {
    FB_ASSIGN_OR_RETURN(operation, Follow(head, std::move(operation)));
  }
  Print(request.format == OutputFormat::kJson ? ToText(operation)
                                              : OperationText(operation));
  std::string note = TextIn(operation, "note");
  if (!note.empty()) Complain(Printable(note));
  OperationVerdict verdict = JudgeOperation(operation);
  for (const std::string& message : verdict.messages) Complain(message);
  return verdict.code;
}

}  // namespace forebay::cli
