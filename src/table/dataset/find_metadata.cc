#include "table/dataset/find_metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace forebay::table {
namespace {

constexpr int64_t kHintBytesMax = 4096;

// A metadata file by what its name says: "v12.metadata.json",
// "00012-<uuid>.metadata.json".
struct Candidate {
  int64_t number = -1;
  bool hadoop = false;  // of the "v12" series
  const model::Object* object = nullptr;
};

std::optional<int64_t> LeadingNumber(std::string_view text) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data() || number < 0) return std::nullopt;
  return number;
}

std::string_view BaseName(std::string_view uri) { return uri.substr(uri.rfind('/') + 1); }

std::vector<Candidate> Candidates(const std::vector<model::Object>& objects) {
  std::vector<Candidate> found;
  for (const model::Object& object : objects) {
    std::string_view name = BaseName(object.uri);
    if (!IsMetadataName(name)) continue;
    bool hadoop = name.starts_with('v');
    auto number = LeadingNumber(hadoop ? name.substr(1) : name);
    found.push_back({number.value_or(-1), hadoop && number.has_value(), &object});
  }
  return found;
}

// The hint is written after the file it names and may lag: later ones count.
std::optional<std::string> AfterHint(const std::vector<Candidate>& candidates,
                                     int64_t hint) {
  const Candidate* best = nullptr;
  for (bool found = true; found; ++hint) {
    found = false;
    for (const Candidate& candidate : candidates) {
      if (!candidate.hadoop || candidate.number != hint) continue;
      best = &candidate;
      found = true;
    }
  }
  if (best == nullptr) return std::nullopt;
  return best->object->uri;
}

std::string Newest(const std::vector<Candidate>& candidates) {
  auto later = [](const Candidate& a, const Candidate& b) {
    return std::tie(a.number, a.object->identity.mtime_ns, a.object->uri) <
           std::tie(b.number, b.object->identity.mtime_ns, b.object->uri);
  };
  return std::ranges::max_element(candidates, later)->object->uri;
}

bool IsAbsence(const Status& status) {
  return status.code() == StatusCode::kNotFound ||
         status.code() == StatusCode::kUnsupported ||
         status.code() == StatusCode::kInvalid;
}

}  // namespace

bool IsMetadataName(std::string_view uri) {
  return uri.ends_with(".metadata.json") || uri.ends_with(".metadata.json.gz");
}

Result<std::string> ReadWhole(source::Source& source, const std::string& uri,
                              int64_t max_bytes, Deadline deadline) {
  FB_ASSIGN_OR_RETURN(model::Object object, source.Stat(uri, deadline));
  if (object.identity.size > max_bytes) {
    return Status::Corrupt(fmt::format("{} has {} bytes, more than such a file can have",
                                       uri, object.identity.size));
  }
  std::string bytes(static_cast<size_t>(object.identity.size), '\0');
  if (bytes.empty()) return bytes;
  auto into = std::as_writable_bytes(std::span(bytes.data(), bytes.size()));
  FB_RETURN_NOT_OK(source.Read(object, 0, into, deadline));
  return bytes;
}

Result<std::optional<std::string>> FindMetadata(source::Source& source,
                                                const std::string& folder,
                                                Deadline deadline) {
  std::string base = folder + (folder.ends_with('/') ? "metadata/" : "/metadata/");
  auto objects = source.List(base, deadline);
  if (!objects.ok() && IsAbsence(objects.status())) return std::optional<std::string>();
  if (!objects.ok()) return objects.status();
  std::vector<Candidate> candidates = Candidates(*objects);
  if (candidates.empty()) return std::optional<std::string>();
  std::string hint_uri = base + "version-hint.text";
  bool has_hint = std::ranges::any_of(
      *objects, [](const auto& o) { return o.uri.ends_with("/version-hint.text"); });
  if (has_hint) {
    FB_ASSIGN_OR_RETURN(std::string text,
                        ReadWhole(source, hint_uri, kHintBytesMax, deadline));
    if (auto number = LeadingNumber(text)) {
      if (auto uri = AfterHint(candidates, *number)) return uri;
    }
    // Some writers put the file's whole name there.
    text.erase(text.find_last_not_of(" \r\n\t") + 1);
    for (const Candidate& candidate : candidates) {
      std::string_view name = BaseName(candidate.object->uri);
      if (!text.empty() && (name == text || name == text + ".metadata.json")) {
        return std::optional(candidate.object->uri);
      }
    }
  }
  return std::optional(Newest(candidates));
}

}  // namespace forebay::table
