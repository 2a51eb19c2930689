#include "model/resolve_path.h"

#include <optional>
#include <string>

namespace forebay::model {
namespace {

using Kind = ResolvedPath::Kind;

constexpr int kLinksMax = 40;  // as Linux has it

bool HasDots(std::string_view path) {
  for (;;) {
    size_t slash = path.find('/');
    std::string_view part = path.substr(0, slash);
    if (part == "." || part == "..") return true;
    if (slash == path.npos) return false;
    path.remove_prefix(slash + 1);
  }
}

class Walk {
 public:
  Walk(const FilesManifest& manifest, std::string_view path, LastLink last)
      : manifest_(manifest), last_(last), rest_(path) {}

  ResolvedPath Run() {
    while (!rest_.empty()) {
      std::string name = TakePart();
      if (name.empty() || name == ".") continue;
      auto end = name == ".." ? Up() : Down(name);
      if (end) return *end;
    }
    return {Kind::kDirectory, at_};
  }

 private:
  std::string TakePart() {
    size_t slash = rest_.find('/');
    std::string part = rest_.substr(0, slash);
    rest_.erase(0, slash == rest_.npos ? slash : slash + 1);
    return part;
  }

  std::optional<ResolvedPath> Up() {
    if (at_ == 0) return ResolvedPath{Kind::kOutside};
    std::string_view path = manifest_.directory_path(at_);
    size_t slash = path.rfind('/');
    auto parent =
        manifest_.FindDirectory(slash == path.npos ? "" : path.substr(0, slash));
    if (!parent) return ResolvedPath{Kind::kMissing};
    at_ = *parent;
    return std::nullopt;
  }

  std::optional<ResolvedPath> Down(const std::string& name) {
    if (auto directory = manifest_.FindDirectoryIn(at_, name)) {
      at_ = *directory;
      return std::nullopt;
    }
    auto file = manifest_.FindFileIn(at_, name);
    if (!file) return ResolvedPath{Kind::kMissing};
    bool is_last = rest_.empty();
    bool follow = !is_last || last_ == LastLink::kFollow;
    if (manifest_.files()[*file].is_link() && follow) return Follow(*file);
    // Nothing is below a file.
    return is_last ? ResolvedPath{Kind::kFile, *file} : ResolvedPath{Kind::kMissing};
  }

  std::optional<ResolvedPath> Follow(uint32_t link) {
    if (++links_ > kLinksMax) return ResolvedPath{Kind::kLoop};
    std::string_view target = manifest_.link_target(link);
    if (target.starts_with('/') || target.find("://") != target.npos) {
      auto below = BelowRoot(target);
      if (!below) return ResolvedPath{Kind::kOutside};
      target = *below;
      at_ = 0;
    }
    rest_ = rest_.empty() ? std::string(target) : std::string(target) + "/" + rest_;
    return std::nullopt;
  }

  // Of an absolute target: the root is known by its URI and by the path in it.
  std::optional<std::string_view> BelowRoot(std::string_view target) const {
    std::string_view root = manifest_.root();
    if (target.starts_with('/')) {
      size_t authority = root.find("://");
      if (authority == root.npos) return std::nullopt;
      size_t path = root.find('/', authority + 3);
      root = path == root.npos ? std::string_view() : root.substr(path);
    }
    if (!target.starts_with(root)) return std::nullopt;
    target.remove_prefix(root.size());
    if (!target.empty() && target.front() != '/') return std::nullopt;
    return target;
  }

  const FilesManifest& manifest_;
  const LastLink last_;
  std::string rest_;  // of the way
  uint32_t at_ = 0;   // the directory so far
  int links_ = 0;
};

}  // namespace

ResolvedPath ResolvePath(const FilesManifest& manifest, std::string_view path,
                         LastLink last) {
  if (HasDots(path)) return {};
  // Most paths have no links.
  if (auto file = manifest.FindFile(path)) {
    bool keep = !manifest.files()[*file].is_link() || last == LastLink::kKeep;
    if (keep) return {Kind::kFile, *file};
  }
  if (auto directory = manifest.FindDirectory(path))
    return {Kind::kDirectory, *directory};
  return Walk(manifest, path, last).Run();
}

}  // namespace forebay::model
