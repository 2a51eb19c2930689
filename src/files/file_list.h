// The files, links and empty folders of a listing while it grows: paths, sizes and
// identities, packed together so that millions fit. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/object.h"

namespace forebay::files {

class FileList {
 public:
  enum class Kind : uint8_t { kEtag, kNoEtag, kLink };
  struct Entry {
    uint64_t text = 0;  // where the path begins, and after it the identity
    int64_t size = 0;
    int64_t mtime_ns = 0;
    uint32_t path_bytes = 0;
    uint16_t identity_bytes = 0;
    Kind kind = Kind::kEtag;
  };

  // `path` is relative to the root of the listing.
  void Add(std::string_view path, const model::ObjectIdentity& identity);
  void AddLink(std::string_view path, std::string_view target, int64_t mtime_ns);
  // A folder that is there even if nothing is below it.
  void AddFolder(std::string_view path);
  void Append(const FileList& other);
  // An object whose name cannot be a file's: counted, and named while there are few.
  void LeaveOut(std::string_view path, std::string_view why);

  size_t size() const { return entries_.size(); }
  const std::vector<Entry>& entries() const { return entries_; }
  std::string_view path(const Entry& entry) const {
    return std::string_view(text_).substr(entry.text, entry.path_bytes);
  }
  // The etag, or ctime and inode (8 bytes each), or where a link leads.
  std::string_view identity(const Entry& entry) const {
    return std::string_view(text_).substr(entry.text + entry.path_bytes,
                                          entry.identity_bytes);
  }
  // Of a file.
  model::ObjectIdentity FullIdentity(const Entry& entry) const;
  // Orders entries by path, bytewise.
  void Sort();
  // Drops the entries for which `drop` holds.
  template <typename Drop>
  void Erase(const Drop& drop) {
    std::erase_if(entries_, drop);
  }

  const std::vector<std::string>& folders() const { return folders_; }

  uint64_t left_out_count() const { return left_out_count_; }
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  void AddEntry(Entry entry, std::string_view path, std::string_view identity);

  std::string text_;
  std::vector<Entry> entries_;
  std::vector<std::string> folders_;
  uint64_t left_out_count_ = 0;
  std::vector<std::string> left_out_;
};

}  // namespace forebay::files
