#include "table/dataset/table_options.h"

#include <fmt/format.h>

#include <charconv>

#include "model/source_options.h"
#include "source/http_options.h"

namespace forebay::table {
namespace {

constexpr std::string_view kPrefix = "forebay.";

Result<int64_t> Whole(const std::string& name, const std::string& text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  return Status::Invalid(
      fmt::format("{} must be a whole number, not '{}'", name.substr(8), text));
}

Status Set(const std::string& name, const std::string& value, TableOptions* out) {
  std::string_view key = std::string_view(name).substr(kPrefix.size());
  if (key == "snapshot") {
    FB_ASSIGN_OR_RETURN(out->choice.snapshot, Whole(name, value));
  } else if (key == "as-of") {
    FB_ASSIGN_OR_RETURN(out->choice.as_of_ms, Whole(name, value));
  } else if (key == "tag") {
    out->choice.tag = value;
  } else if (key == "branch") {
    out->choice.branch = value;
  } else if (key == "filter") {
    out->filter = value;
  } else if (key == "ignore-summary") {
    FB_ASSIGN_OR_RETURN(auto flag, source::GetFlag({{name, value}}, name));
    out->ignore_summary = flag.value_or(false);
  } else if (key.starts_with("remap.")) {
    out->locations.remap[std::string(key.substr(6))] = value;
  } else if (key.starts_with("allow.")) {
    out->locations.allowed.push_back(value);
  } else {
    return model::UnknownOption(name);
  }
  return Status::OK();
}

}  // namespace

std::string TableOptions::ChoiceText() const {
  if (choice.snapshot) return fmt::format("snapshot {}", *choice.snapshot);
  if (!choice.tag.empty()) return fmt::format("tag '{}'", choice.tag);
  if (!choice.branch.empty()) return fmt::format("branch '{}'", choice.branch);
  if (choice.as_of_ms) return fmt::format("as-of time {} ms", *choice.as_of_ms);
  return {};
}

Result<TableOptions> ParseTableOptions(const source::Options& options) {
  TableOptions out;
  for (const auto& [name, value] : options) {
    if (!name.starts_with(kPrefix)) {
      out.rest.emplace(name, value);
      continue;
    }
    FB_RETURN_NOT_OK(Set(name, value, &out));
  }
  int choices = (out.choice.snapshot ? 1 : 0) + (out.choice.tag.empty() ? 0 : 1) +
                (out.choice.branch.empty() ? 0 : 1) + (out.choice.as_of_ms ? 1 : 0);
  if (choices > 1) {
    return Status::Invalid("give only one of snapshot, tag, branch and as-of");
  }
  return out;
}

}  // namespace forebay::table
