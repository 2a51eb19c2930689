#include "fuse/changes.h"

namespace forebay::fuse {
namespace {

using Manifest = model::FilesManifest;

// One walk over all directories of both versions.
class Comparison {
 public:
  Comparison(const Filesystem& filesystem, uint32_t source, const Generation& before,
             const Generation& now, const ChangeVisitor& visitor)
      : filesystem_(filesystem),
        source_(source),
        before_(before),
        now_(now),
        old_(before.contents->manifest()),
        new_(now.contents->manifest()),
        visitor_(visitor) {}

  ChangeCounts Run() {
    for (uint32_t i = 0; i < old_.directories().size(); ++i) CompareOld(i);
    for (uint32_t i = 0; i < new_.directories().size(); ++i) CompareNew(i);
    return counts_;
  }

 private:
  // What is gone or different.
  void CompareOld(uint32_t directory) {
    auto same = new_.FindDirectory(old_.directory_path(directory));
    uint64_t node = filesystem_.DirectoryNode(source_, before_, directory);
    bool touched = !same;
    for (uint32_t file : old_.FilesIn(directory)) {
      auto other = same ? new_.FindFileIn(*same, old_.file_name(file)) : std::nullopt;
      if (other && SameFile(old_, file, new_, *other)) continue;
      other ? ++counts_.changed : ++counts_.removed;
      visitor_.entry(node, old_.file_name(file));
      touched = true;
    }
    for (uint32_t below : old_.DirectoriesIn(directory)) {
      if (new_.FindDirectory(old_.directory_path(below))) continue;
      visitor_.entry(node, old_.directory_name(below));
      touched = true;
    }
    if (touched) visitor_.directory(node);
  }

  // What was not there before.
  void CompareNew(uint32_t directory) {
    auto was = old_.FindDirectory(new_.directory_path(directory));
    uint64_t node = filesystem_.DirectoryNode(source_, now_, directory);
    bool touched = false;
    for (uint32_t file : new_.FilesIn(directory)) {
      std::string_view name = new_.file_name(file);
      if (was && old_.FindFileIn(*was, name)) continue;
      ++counts_.added;
      if (was) visitor_.entry(node, name);
      touched = true;
    }
    for (uint32_t below : new_.DirectoriesIn(directory)) {
      if (old_.FindDirectory(new_.directory_path(below))) continue;
      if (was) visitor_.entry(node, new_.directory_name(below));
      touched = true;
    }
    if (touched && was) visitor_.directory(node);
  }

  const Filesystem& filesystem_;
  const uint32_t source_;
  const Generation& before_;
  const Generation& now_;
  const Manifest& old_;
  const Manifest& new_;
  const ChangeVisitor& visitor_;
  ChangeCounts counts_;
};

}  // namespace

ChangeCounts VisitChanges(const Filesystem& filesystem, uint32_t source,
                          const Generation& before, const Generation& now,
                          const ChangeVisitor& visitor) {
  return Comparison(filesystem, source, before, now, visitor).Run();
}

}  // namespace forebay::fuse
