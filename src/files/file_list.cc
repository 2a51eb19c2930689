#include "files/file_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/status.h"
#include "model/file_names.h"

namespace forebay::files {
namespace {

constexpr size_t kLeftOutNamesMax = 100;
constexpr size_t kEtagBytesMax = 1024;

}  // namespace

void FileList::Add(std::string_view path, const model::ObjectIdentity& identity) {
  std::string_view why = model::WhyNoFileName(path);
  // An etag that long would be refused by every server it was sent to.
  if (why.empty() && identity.etag.size() >= kEtagBytesMax) why = "its etag is too long";
  if (!why.empty()) return LeaveOut(path, why);
  Entry entry{.size = identity.size, .mtime_ns = identity.mtime_ns, .kind = Kind::kEtag};
  if (!identity.etag.empty()) return AddEntry(entry, path, identity.etag);
  entry.kind = Kind::kNoEtag;
  char bytes[2 * sizeof(uint64_t)];
  std::memcpy(bytes, &identity.ctime_ns, sizeof(int64_t));
  std::memcpy(bytes + sizeof(int64_t), &identity.inode, sizeof(uint64_t));
  AddEntry(entry, path, {bytes, sizeof(bytes)});
}

void FileList::AddLink(std::string_view path, std::string_view target, int64_t mtime_ns) {
  std::string_view why = model::WhyNoFileName(path);
  if (why.empty()) why = model::WhyNoLinkTarget(target);
  if (!why.empty()) return LeaveOut(path, why);
  AddEntry({.mtime_ns = mtime_ns, .kind = Kind::kLink}, path, target);
}

void FileList::AddFolder(std::string_view path) {
  std::string_view why = model::WhyNoFileName(path);
  if (!why.empty()) return LeaveOut(path, why);
  folders_.emplace_back(path);
}

void FileList::AddEntry(Entry entry, std::string_view path, std::string_view identity) {
  entry.text = text_.size();
  entry.path_bytes = static_cast<uint32_t>(path.size());
  entry.identity_bytes = static_cast<uint16_t>(identity.size());
  text_ += path;
  text_ += identity;
  entries_.push_back(entry);
}

void FileList::Append(const FileList& other) {
  uint64_t base = text_.size();
  text_ += other.text_;
  entries_.reserve(entries_.size() + other.entries_.size());
  for (Entry entry : other.entries_) {
    entry.text += base;
    entries_.push_back(entry);
  }
  folders_.insert(folders_.end(), other.folders_.begin(), other.folders_.end());
  left_out_count_ += other.left_out_count_;
  for (const std::string& name : other.left_out_) {
    if (left_out_.size() < kLeftOutNamesMax) left_out_.push_back(name);
  }
}

void FileList::LeaveOut(std::string_view path, std::string_view why) {
  ++left_out_count_;
  if (left_out_.size() >= kLeftOutNamesMax) return;
  left_out_.push_back(fmt::format("{}: {}", path, why));
}

model::ObjectIdentity FileList::FullIdentity(const Entry& entry) const {
  model::ObjectIdentity full;
  full.size = entry.size;
  full.mtime_ns = entry.mtime_ns;
  std::string_view bytes = identity(entry);
  if (entry.kind == Kind::kEtag) {
    full.etag = bytes;
  } else {
    std::memcpy(&full.ctime_ns, bytes.data(), sizeof(int64_t));
    std::memcpy(&full.inode, bytes.data() + sizeof(int64_t), sizeof(uint64_t));
  }
  return full;
}

void FileList::Sort() {
  auto by_path = [this](const Entry& a, const Entry& b) { return path(a) < path(b); };
  if (!std::ranges::is_sorted(entries_, by_path)) std::ranges::sort(entries_, by_path);
}

}  // namespace forebay::files
