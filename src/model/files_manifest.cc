#include "model/files_manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "model/files_format.h"

namespace forebay::model {
namespace {

using namespace files_format;  // NOLINT: the bytes this file is about

constexpr uint32_t kFileChunkFormatVersion = 1;
constexpr uint32_t kManifestKeyVersion = 1;

template <typename T>
Status Cut(std::string_view bytes, const Section& section, std::span<const T>* out) {
  bool aligned = section.offset % 8 == 0 || sizeof(T) == 1;
  if (!aligned || section.offset > bytes.size() ||
      section.count > (bytes.size() - section.offset) / sizeof(T)) {
    return Status::Corrupt("the files manifest has a section outside itself");
  }
  *out = {reinterpret_cast<const T*>(bytes.data() + section.offset), section.count};
  return Status::OK();
}

Status CutText(std::string_view bytes, const Section& section, std::string_view* out) {
  std::span<const char> chars;
  FB_RETURN_NOT_OK(Cut(bytes, section, &chars));
  *out = {chars.data(), chars.size()};
  return Status::OK();
}

Status CheckHeader(std::string_view bytes, const Header& header) {
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0) {
    return Status::Corrupt("these bytes are not a files manifest");
  }
  if (header.format_version < 1 ||
      header.format_version > FilesManifest::kFormatVersion) {
    return Status::Unsupported(
        fmt::format("the files manifest has format version {}, not 1 to {}",
                    header.format_version, FilesManifest::kFormatVersion));
  }
  if (header.size != bytes.size()) {
    return Status::Corrupt("the files manifest is not as long as it says");
  }
  return Status::OK();
}

FilesManifest::Indices Clamp(uint32_t first, uint32_t count, size_t size) {
  uint64_t end = std::min<uint64_t>(uint64_t{first} + count, size);
  return {static_cast<uint32_t>(std::min<uint64_t>(first, end)),
          static_cast<uint32_t>(end)};
}

// The item whose slot is found for `hash` and of which `same` holds.
template <typename Same>
std::optional<uint32_t> Probe(std::span<const uint32_t> slots, uint64_t item_count,
                              uint64_t hash, const Same& same) {
  if (slots.empty()) return std::nullopt;
  SlotTable table(item_count);
  uint64_t at = SlotTable::Home(hash, slots.size());
  for (size_t i = 0; i < slots.size(); ++i) {
    uint32_t slot = slots[at];
    if (slot == 0) return std::nullopt;
    if (table.MayBe(slot, hash)) {
      uint32_t index = table.Index(slot);
      if (index < item_count && same(index)) return index;
    }
    if (++at == slots.size()) at = 0;
  }
  return std::nullopt;
}

}  // namespace

Result<std::shared_ptr<const FilesManifest>> FilesManifest::View(
    std::string_view bytes, std::shared_ptr<const void> owner) {
  Header header;
  if (bytes.size() < sizeof(header)) {
    return Status::Corrupt("the files manifest is too short");
  }
  if (reinterpret_cast<uintptr_t>(bytes.data()) % 8 != 0) {
    return Status::Corrupt("the files manifest is not aligned");
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  FB_RETURN_NOT_OK(CheckHeader(bytes, header));
  auto manifest = std::shared_ptr<FilesManifest>(new FilesManifest());
  manifest->owner_ = std::move(owner);
  manifest->bytes_ = bytes;
  manifest->version_ = header.version;
  manifest->file_bytes_ = header.file_bytes;
  manifest->left_out_count_ = header.left_out_count;
  FB_RETURN_NOT_OK(CutText(bytes, header.root, &manifest->root_));
  FB_RETURN_NOT_OK(CutText(bytes, header.origin, &manifest->origin_));
  FB_RETURN_NOT_OK(CutText(bytes, header.text, &manifest->text_));
  FB_RETURN_NOT_OK(CutText(bytes, header.left_out, &manifest->left_out_));
  FB_RETURN_NOT_OK(Cut(bytes, header.files, &manifest->files_));
  FB_RETURN_NOT_OK(Cut(bytes, header.directories, &manifest->directories_));
  FB_RETURN_NOT_OK(Cut(bytes, header.packs, &manifest->packs_));
  FB_RETURN_NOT_OK(Cut(bytes, header.members, &manifest->members_));
  FB_RETURN_NOT_OK(Cut(bytes, header.file_slots, &manifest->file_slots_));
  FB_RETURN_NOT_OK(Cut(bytes, header.directory_slots, &manifest->directory_slots_));
  if (manifest->directories_.empty()) {
    return Status::Corrupt("the files manifest has no root directory");
  }
  return std::shared_ptr<const FilesManifest>(std::move(manifest));
}

std::string_view FilesManifest::Text(uint64_t offset, uint64_t size) const {
  if (offset > text_.size() || size > text_.size() - offset) return {};
  return text_.substr(offset, size);
}

std::string_view FilesManifest::file_name(uint32_t file) const {
  uint64_t text = files_[file].text;
  return Text(text & kOffsetMask, (text >> kOffsetBits) & kNameMask);
}

std::string_view FilesManifest::Identity(const FileRecord& record) const {
  uint64_t name_size = (record.text >> kOffsetBits) & kNameMask;
  return Text((record.text & kOffsetMask) + name_size,
              (record.text >> (kOffsetBits + kNameBits)) & kIdentityMask);
}

std::string_view FilesManifest::etag(uint32_t file) const {
  const FileRecord& record = files_[file];
  return (record.text & kEtagBit) != 0 ? Identity(record) : std::string_view();
}

std::string_view FilesManifest::link_target(uint32_t file) const {
  const FileRecord& record = files_[file];
  return record.is_link() ? Identity(record) : std::string_view();
}

std::string_view FilesManifest::directory_path(uint32_t directory) const {
  uint64_t path = directories_[directory].path;
  return Text(path & kOffsetMask, path >> kOffsetBits);
}

std::string_view FilesManifest::directory_name(uint32_t directory) const {
  std::string_view path = directory_path(directory);
  size_t slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

// Files follow each other by directory, so the last one that begins at or before it.
uint32_t FilesManifest::DirectoryOf(uint32_t file) const {
  auto after =
      std::ranges::upper_bound(directories_, file, {}, &DirectoryRecord::first_file);
  // Directories without files begin where the next one does.
  while (after != directories_.begin()) {
    --after;
    if (after->file_count > 0) break;
  }
  return static_cast<uint32_t>(after - directories_.begin());
}

std::string FilesManifest::FilePath(uint32_t file) const {
  std::string path(directory_path(DirectoryOf(file)));
  if (!path.empty()) path += '/';
  path += file_name(file);
  return path;
}

std::optional<uint32_t> FilesManifest::FindDirectory(std::string_view path) const {
  if (path.empty()) return 0;
  return Probe(directory_slots_, directories_.size(), PathHash(path),
               [&](uint32_t index) { return directory_path(index) == path; });
}

std::optional<uint32_t> FilesManifest::FindFileIn(uint32_t directory,
                                                  std::string_view name) const {
  const DirectoryRecord& record = directories_[directory];
  return Probe(
      file_slots_, files_.size(), NameHash(directory, name), [&](uint32_t index) {
        return index - record.first_file < record.file_count && file_name(index) == name;
      });
}

std::optional<uint32_t> FilesManifest::FindDirectoryIn(uint32_t directory,
                                                       std::string_view name) const {
  std::string path(directory_path(directory));
  if (!path.empty()) path += '/';
  path += name;
  return name.empty() ? std::nullopt : FindDirectory(path);
}

std::optional<uint32_t> FilesManifest::FindFile(std::string_view path) const {
  size_t slash = path.rfind('/');
  if (slash == path.npos) return FindFileIn(0, path);
  auto directory = FindDirectory(path.substr(0, slash));
  if (!directory || slash == 0) return std::nullopt;
  return FindFileIn(*directory, path.substr(slash + 1));
}

FilesManifest::Indices FilesManifest::FilesIn(uint32_t directory) const {
  const DirectoryRecord& record = directories_[directory];
  return Clamp(record.first_file, record.file_count, files_.size());
}

FilesManifest::Indices FilesManifest::DirectoriesIn(uint32_t directory) const {
  const DirectoryRecord& record = directories_[directory];
  return Clamp(record.first_directory, record.directory_count, directories_.size());
}

std::span<const uint32_t> FilesManifest::members(const PackRecord& pack) const {
  if (pack.first_member > members_.size() ||
      pack.member_count > members_.size() - pack.first_member) {
    return {};
  }
  return members_.subspan(pack.first_member, pack.member_count);
}

std::vector<std::string> FilesManifest::left_out() const {
  std::vector<std::string> names;
  Decoder in(left_out_);
  for (uint32_t i = in.GetCount(4); i > 0; --i) names.push_back(in.GetString());
  return names;
}

Object FilesManifest::object(uint32_t file) const {
  const FileRecord& record = files_[file];
  Object object;
  object.uri = std::string(root_) + "/" + FilePath(file);
  object.identity.size = record.size;
  object.identity.mtime_ns = record.mtime_ns;
  std::string_view identity = Identity(record);
  if ((record.text & kEtagBit) != 0) {
    object.identity.etag = identity;
  } else if (record.is_link()) {
    object.identity.etag = "link to " + std::string(identity);
  } else {
    Decoder in(identity);
    object.identity.ctime_ns = in.Get<int64_t>();
    object.identity.inode = in.Get<uint64_t>();
  }
  return object;
}

uint32_t FilesManifest::ChunkCount(uint32_t file) const {
  auto size = static_cast<uint64_t>(files_[file].size);
  if (size <= kWholeFileBytes) return size == 0 ? 0 : 1;
  return static_cast<uint32_t>((size + kExtentBytes - 1) / kExtentBytes);
}

FilePlace FilesManifest::PlaceOf(uint32_t file, uint64_t offset) const {
  const FileRecord& record = files_[file];
  auto size = static_cast<uint64_t>(record.size);
  if (record.pack != kNoPack) {
    return {{record.pack, kPackGroup}, record.pack_offset + offset, size - offset};
  }
  if (size <= kWholeFileBytes) return {{file, 0}, offset, size - offset};
  auto extent = static_cast<uint32_t>(offset / kExtentBytes);
  uint64_t end = std::min(size, (extent + uint64_t{1}) * kExtentBytes);
  return {{file, extent}, offset - extent * kExtentBytes, end - offset};
}

bool FilesManifest::Contains(ChunkRef ref) const {
  if (ref.group == kPackGroup) return ref.range < packs_.size();
  return ref.range < files_.size() && ref.group < ChunkCount(ref.range);
}

uint64_t FilesManifest::ChunkBytes(ChunkRef ref) const {
  if (ref.group == kPackGroup) return packs_[ref.range].size;
  auto size = static_cast<uint64_t>(files_[ref.range].size);
  if (size <= kWholeFileBytes) return size;
  return std::min(kExtentBytes, size - ExtentOffset(ref));
}

std::optional<ChunkRef> FilesManifest::PackOf(uint32_t file) const {
  ChunkRef pack{files_[file].pack, kPackGroup};
  if (pack.range == kNoPack || !Contains(pack)) return std::nullopt;
  return pack;
}

void EachChunk(const FilesManifest& manifest, const std::function<bool(ChunkRef)>& each) {
  for (uint32_t i = 0; i < manifest.packs().size(); ++i) {
    if (!each({i, kPackGroup})) return;
  }
  for (uint32_t file = 0; file < manifest.files().size(); ++file) {
    if (manifest.files()[file].pack != kNoPack) continue;
    uint32_t count = manifest.ChunkCount(file);
    for (uint32_t extent = 0; extent < count; ++extent) {
      if (!each({file, extent})) return;
    }
  }
}

uint64_t FilesEndingIn(const FilesManifest& manifest, ChunkRef ref) {
  if (ref.group == kPackGroup) return manifest.packs()[ref.range].member_count;
  return ref.group + 1 == manifest.ChunkCount(ref.range) ? 1 : 0;
}

Hash128 FilePlacement(const FilesManifest& manifest, ChunkRef ref) {
  if (ref.group == kPackGroup) return FileChunkKey(manifest, ref);
  return FileChunkKey(manifest, manifest.PackOf(ref.range).value_or(ref));
}

Hash128 FileChunkKey(const FilesManifest& manifest, ChunkRef ref) {
  Encoder out;
  out.PutString(ref.group == kPackGroup ? "pack of files" : "file chunk");
  out.Put(kFileChunkFormatVersion);
  if (ref.group == kPackGroup) {
    out.Put(manifest.packs()[ref.range].content.high);
    out.Put(manifest.packs()[ref.range].content.low);
    return HashBytes(out.bytes());
  }
  Hash128 content = manifest.object(ref.range).ContentHash(manifest.origin());
  out.Put(content.high);
  out.Put(content.low);
  out.Put(FilesManifest::ExtentOffset(ref));
  out.Put(manifest.ChunkBytes(ref));
  return HashBytes(out.bytes());
}

Hash128 FilesManifestKey(const Hash128& version) {
  Encoder out;
  out.PutString("files manifest");
  out.Put(kManifestKeyVersion);
  out.Put(version.high);
  out.Put(version.low);
  return HashBytes(out.bytes());
}

}  // namespace forebay::model
