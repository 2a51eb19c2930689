#include "files/build_manifest.h"

#include <cstring>
#include <numeric>

#include "base/bytes.h"
#include "files/directory_tree.h"
#include "files/packs.h"
#include "model/files_format.h"
#include "model/files_manifest.h"

namespace forebay::files {
namespace {

using namespace model::files_format;  // NOLINT: the bytes this file writes
using model::DirectoryRecord;
using model::FileRecord;
using model::PackRecord;

uint64_t Packed(uint64_t offset, uint64_t size) { return offset | (size << kOffsetBits); }

Section Append(std::string& out, const void* data, size_t count, size_t width) {
  out.resize((out.size() + 7) / 8 * 8);
  Section section{out.size(), count};
  if (count > 0) out.append(static_cast<const char*>(data), count * width);
  return section;
}
Section Append(std::string& out, std::string_view text) {
  return Append(out, text.data(), text.size(), 1);
}
template <typename T>
Section Append(std::string& out, const std::vector<T>& records) {
  return Append(out, records.data(), records.size(), sizeof(T));
}

class Slots {
 public:
  explicit Slots(uint64_t item_count)
      : table_(item_count), slots_(SlotTable::SlotCount(item_count)) {}
  void Add(uint64_t hash, uint32_t index) {
    uint64_t at = SlotTable::Home(hash, slots_.size());
    while (slots_[at] != 0) at = at + 1 == slots_.size() ? 0 : at + 1;
    slots_[at] = table_.Slot(hash, index);
  }
  const std::vector<uint32_t>& slots() const { return slots_; }

 private:
  SlotTable table_;
  std::vector<uint32_t> slots_;
};

class Writer {
 public:
  Writer(const Place& place, FileList list) : place_(place), list_(std::move(list)) {}

  std::string Write() {
    list_.Sort();
    tree_ = MakeDirectoryTree(&list_);
    OrderFiles();
    WriteDirectories();
    WriteFiles();
    WritePacks();
    return Finish();
  }

 private:
  // Files of a directory together, by name: entries are sorted by path already.
  void OrderFiles() {
    std::vector<uint32_t> next(tree_.directories.size() + 1);
    for (uint32_t directory : tree_.of_file) ++next[directory + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    first_file_ = next;
    order_.resize(list_.size());
    for (uint32_t i = 0; i < list_.size(); ++i) order_[next[tree_.of_file[i]]++] = i;
  }

  void WriteDirectories() {
    for (uint32_t i = 0; i < tree_.directories.size(); ++i) {
      const Directory& directory = tree_.directories[i];
      directories_.push_back({.path = Packed(text_.size(), directory.path.size()),
                              .parent = directory.parent,
                              .first_directory = directory.first_directory,
                              .directory_count = directory.directory_count,
                              .first_file = first_file_[i],
                              .file_count = first_file_[i + 1] - first_file_[i],
                              .reserved = 0});
      text_ += directory.path;
    }
  }

  void WriteFiles() {
    Hasher version;
    version.Update(std::string_view("files version 1"));
    HashText(version, place_.origin);
    HashText(version, place_.root);
    for (uint32_t index : order_) WriteFile(list_.entries()[index], version);
    for (uint32_t i = 1; i < directories_.size(); ++i) {
      if (directories_[i].file_count > 0 || directories_[i].directory_count > 0) continue;
      HashItem(version, {tree_.directories[i].path, "", kEmptyDirectory});
      needs_version_2_ = true;
    }
    version_ = version.Digest();
  }

  void WriteFile(const FileList::Entry& entry, Hasher& version) {
    std::string_view path = list_.path(entry);
    std::string_view name = path.substr(path.rfind('/') + 1);
    std::string_view identity = list_.identity(entry);
    bool is_link = entry.kind == FileList::Kind::kLink;
    uint64_t text = Packed(text_.size(), name.size()) |
                    (identity.size() << (kOffsetBits + kNameBits)) |
                    (entry.kind == FileList::Kind::kEtag ? kEtagBit : 0);
    files_.push_back({.text = text,
                      .size = entry.size,
                      .mtime_ns = entry.mtime_ns,
                      .pack = model::kNoPack,
                      .pack_offset = is_link ? model::kLinkMark : 0});
    text_ += name;
    text_ += identity;
    file_bytes_ += static_cast<uint64_t>(entry.size);
    needs_version_2_ |= is_link;
    HashItem(version, {path, identity, is_link ? kLink : entry.size});
    if (entry.kind == FileList::Kind::kNoEtag) {
      version.Update(&entry.mtime_ns, sizeof(entry.mtime_ns));
    }
  }

  // What is no file has a size that no file has.
  static constexpr int64_t kLink = -1;
  static constexpr int64_t kEmptyDirectory = -2;
  struct Item {
    std::string_view path;
    std::string_view identity;
    int64_t size;
  };
  static void HashItem(Hasher& version, const Item& item) {
    HashText(version, item.path);
    HashText(version, item.identity);
    version.Update(&item.size, sizeof(item.size));
  }

  static void HashText(Hasher& hasher, std::string_view text) {
    uint64_t size = text.size();
    hasher.Update(&size, sizeof(size));
    hasher.Update(text);
  }

  void WritePacks() {
    std::vector<SmallFile> small;
    for (uint32_t i = 0; i < files_.size(); ++i) {
      auto size = static_cast<uint64_t>(files_[i].size);
      if (size == 0 || size >= model::kPackedFileBytes) continue;
      small.push_back({PathHash(list_.path(list_.entries()[order_[i]])), size, i});
    }
    size_t first = 0;
    for (size_t end : CutPacks(&small)) {
      AddPack(std::span(small).subspan(first, end - first));
      first = end;
    }
  }

  void AddPack(std::span<const SmallFile> files) {
    PackRecord pack{.content = {},
                    .size = 0,
                    .first_member = static_cast<uint32_t>(members_.size()),
                    .member_count = static_cast<uint32_t>(files.size())};
    Hasher content;
    for (const SmallFile& small : files) {
      const FileList::Entry& entry = list_.entries()[order_[small.file]];
      model::Object object{place_.root + "/" + std::string(list_.path(entry)),
                           list_.FullIdentity(entry)};
      Hash128 hash = object.ContentHash(place_.origin);
      content.Update(&hash, sizeof(hash));
      files_[small.file].pack = static_cast<uint32_t>(packs_.size());
      files_[small.file].pack_offset = static_cast<uint32_t>(pack.size);
      pack.size += small.size;
      members_.push_back(small.file);
    }
    pack.content = content.Digest();
    packs_.push_back(pack);
  }

  std::vector<uint32_t> FileSlots() const {
    Slots slots(files_.size());
    for (uint32_t d = 0; d < directories_.size(); ++d) {
      for (uint32_t i = 0; i < directories_[d].file_count; ++i) {
        uint32_t file = directories_[d].first_file + i;
        std::string_view name(text_.data() + (files_[file].text & kOffsetMask),
                              (files_[file].text >> kOffsetBits) & kNameMask);
        slots.Add(NameHash(d, name), file);
      }
    }
    return slots.slots();
  }

  std::vector<uint32_t> DirectorySlots() const {
    Slots slots(directories_.size());
    for (uint32_t i = 1; i < directories_.size(); ++i) {
      slots.Add(PathHash(tree_.directories[i].path), i);
    }
    return slots.slots();
  }

  std::string LeftOut() const {
    Encoder out;
    out.Put<uint32_t>(static_cast<uint32_t>(list_.left_out().size()));
    for (const std::string& name : list_.left_out()) out.PutString(name);
    return out.Take();
  }

  std::string Finish() {
    Header header{};
    std::memcpy(header.magic, kMagic, sizeof(kMagic));
    // Programs that know version 1 only go on with trees that need no more.
    header.format_version = needs_version_2_ ? 2 : 1;
    header.version = version_;
    header.file_bytes = file_bytes_;
    header.left_out_count = list_.left_out_count();
    std::string out(sizeof(header), '\0');
    header.root = Append(out, place_.root);
    header.origin = Append(out, place_.origin);
    header.text = Append(out, text_);
    header.left_out = Append(out, LeftOut());
    header.files = Append(out, files_);
    header.directories = Append(out, directories_);
    header.packs = Append(out, packs_);
    header.members = Append(out, members_);
    header.file_slots = Append(out, FileSlots());
    header.directory_slots = Append(out, DirectorySlots());
    header.size = out.size();
    std::memcpy(out.data(), &header, sizeof(header));
    return out;
  }

  const Place& place_;
  FileList list_;
  DirectoryTree tree_;
  std::vector<uint32_t> order_;       // of files: entries of the list
  std::vector<uint32_t> first_file_;  // of each directory, and the end
  std::string text_;
  std::vector<FileRecord> files_;
  std::vector<DirectoryRecord> directories_;
  std::vector<PackRecord> packs_;
  std::vector<uint32_t> members_;
  uint64_t file_bytes_ = 0;
  bool needs_version_2_ = false;
  Hash128 version_;
};

}  // namespace

std::string BuildFilesManifest(const Place& place, FileList list) {
  return Writer(place, std::move(list)).Write();
}

}  // namespace forebay::files
