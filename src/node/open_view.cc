#include "node/open_view.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/uri.h"
#include "wire/message.h"

namespace forebay::node {
namespace {

Status CheckGroup(const cache::View& view, model::ChunkRef ref) {
  const model::Manifest& manifest = view.manifest();
  if (ref.range >= manifest.ranges().size()) return Status::Invalid("no such range");
  if (ref.group == model::kNarrowGroup) return Status::OK();
  if (!std::ranges::binary_search(view.columns, ref.group) ||
      !manifest.IsWide(manifest.ranges()[ref.range].unit, ref.group)) {
    return Status::Invalid("no such column group");
  }
  return Status::OK();
}

}  // namespace

Status OpenView::CheckColumns() const {
  bool ascending = std::ranges::adjacent_find(view.columns, std::greater_equal<>()) ==
                   view.columns.end();
  if (!ascending || (!view.columns.empty() &&
                     view.columns.back() >= view.manifest().schema().fields.size())) {
    return Status::Invalid("no such columns");
  }
  return Status::OK();
}

Status OpenView::Check(const std::vector<model::ChunkRef>& refs) const {
  if (refs.size() > wire::kRequestRefsMax) return Status::Invalid("too many chunks");
  for (const model::ChunkRef& ref : refs) {
    if (files == nullptr) {
      FB_RETURN_NOT_OK(CheckGroup(view, ref));
    } else if (!files->manifest->Contains(ref)) {
      return Status::Invalid("no such chunk of a file");
    }
  }
  return Status::OK();
}

Hash128 OpenView::Key(model::ChunkRef ref) const {
  return files == nullptr ? view.Key(ref) : files->Key(ref);
}

std::vector<cache::FileFills::Asked> OpenView::Ask(
    cache::Engine& engine, const std::vector<model::ChunkRef>& refs,
    const cache::RequestOptions& with) const {
  if (files != nullptr) return engine.files().fills().Request(files, refs, with);
  auto futures = engine.fills().Request(view, refs, with);
  std::vector<cache::FileFills::Asked> asked;
  asked.reserve(refs.size());
  for (size_t i = 0; i < refs.size(); ++i) {
    asked.push_back({refs[i], std::move(futures[i])});
  }
  return asked;
}

cache::Coverage OpenView::Covered(cache::Engine& engine) const {
  return files == nullptr ? engine.Covered(view) : engine.files().Covered(*files);
}

Result<cache::WarmupProgress> OpenView::Warmup(cache::Engine& engine,
                                               cache::ClientId client, Deadline deadline,
                                               const Report& report) const {
  if (files == nullptr) return engine.Warmup(view, client, deadline, report);
  return engine.files().Warmup(
      files, {.client = client, .deadline = deadline, .report = report});
}

nlohmann::json OpenView::Describe() const {
  if (files != nullptr) {
    return {{"uri", RedactUri(files->uri)},
            {"version", files->manifest->version().ToHex()},
            {"files", files->manifest->files().size()}};
  }
  return {{"uri", RedactUri(view.version->uri)},
          {"version", view.manifest().version().ToHex()},
          {"columns", view.columns.size()},
          {"position", position},
          {"positions", position_count}};
}

}  // namespace forebay::node
