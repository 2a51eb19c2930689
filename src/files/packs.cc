#include "files/packs.h"

#include <algorithm>
#include <span>

namespace forebay::files {
namespace {

class Cutter {
 public:
  explicit Cutter(std::span<const SmallFile> files) : files_(files) {}

  void Cut(size_t first, size_t end, int bit) {
    if (first == end) return;
    uint64_t bytes = 0;
    for (size_t i = first; i < end; ++i) bytes += files_[i].size;
    bool fits = bytes <= kPackBytesMax && end - first <= kPackFilesMax;
    if (fits || bit < 0) {
      ends_.push_back(end);
      return;
    }
    auto part = files_.subspan(first, end - first);
    auto is_low = [bit](const SmallFile& f) { return ((f.hash >> bit) & 1) == 0; };
    auto middle = std::ranges::partition_point(part, is_low) - part.begin();
    Cut(first, first + static_cast<size_t>(middle), bit - 1);
    Cut(first + static_cast<size_t>(middle), end, bit - 1);
  }

  std::vector<size_t> Take() { return std::move(ends_); }

 private:
  std::span<const SmallFile> files_;
  std::vector<size_t> ends_;
};

}  // namespace

std::vector<size_t> CutPacks(std::vector<SmallFile>* files) {
  std::ranges::sort(*files, [](const SmallFile& a, const SmallFile& b) {
    return a.hash != b.hash ? a.hash < b.hash : a.file < b.file;
  });
  Cutter cutter(*files);
  cutter.Cut(0, files->size(), 63);
  return cutter.Take();
}

}  // namespace forebay::files
