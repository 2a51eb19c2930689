#include "fuse/filesystem.h"

#include <algorithm>
#include <cerrno>
#include <mutex>

namespace forebay::fuse {
namespace {

// Where a listing goes on: position in the low bits, the version it is of above them.
constexpr int kCookieBits = 40;
constexpr uint64_t kPositionMask = (uint64_t{1} << kCookieBits) - 1;
constexpr uint64_t kDots = 2;  // "." and ".." come first
// Longer names make the kernel refuse a whole listing.
constexpr size_t kNameBytesMax = 1024;
// Enough to tell what files are like, and few enough to leave a large manifest in peace.
constexpr uint32_t kSampledFiles = 4096;

constexpr std::string_view kEtag = "user.forebay.etag";
constexpr std::string_view kVersion = "user.forebay.version";

FileType TypeOf(const model::FileRecord& record) {
  return record.is_link() ? FileType::kLink : FileType::kFile;
}

uint64_t Cookie(uint32_t generation, uint64_t position) {
  return uint64_t{generation} << kCookieBits | position;
}

}  // namespace

Filesystem::Filesystem(Options options)
    : options_(std::move(options)), generations_(options_.names.size()) {}

void Filesystem::Add(uint32_t source, GenerationPtr generation) {
  std::unique_lock lock(mutex_);
  FB_CHECK(generation->number == generations_[source].size() + 1);
  generations_[source].push_back(std::move(generation));
}

GenerationPtr Filesystem::Current(uint32_t source) const { return Find(source, 0); }

GenerationPtr Filesystem::Find(uint32_t source, uint32_t generation) const {
  std::shared_lock lock(mutex_);
  if (source >= generations_.size()) return nullptr;
  const auto& all = generations_[source];
  if (generation == 0) return all.empty() ? nullptr : all.back();
  return generation <= all.size() ? all[generation - 1] : nullptr;
}

uint64_t Filesystem::DirectoryNode(uint32_t source, const Generation& generation,
                                   uint32_t index) const {
  if (index == 0 && !has_folders()) return kRootNode;
  Births::Birth birth = generation.births.directory(index);
  return NodeId{true, source, birth.generation, birth.index}.number();
}

std::optional<Filesystem::Directory> Filesystem::FindDirectory(
    uint64_t node, uint32_t generation) const {
  NodeId id = NodeId::From(node);
  if (node == kRootNode) id = {.directory = true, .source = 0, .generation = 1};
  if (!id.directory) return std::nullopt;
  GenerationPtr wanted = Find(id.source, generation);
  if (wanted == nullptr) return std::nullopt;
  if (id.index == 0) return Directory{wanted, id.source, 0};
  GenerationPtr born = Find(id.source, id.generation);
  if (born == nullptr || id.generation == 0) return std::nullopt;
  const model::FilesManifest& manifest = born->contents->manifest();
  if (id.index >= manifest.directories().size()) return std::nullopt;
  if (born == wanted) return Directory{wanted, id.source, id.index};
  auto index =
      wanted->contents->manifest().FindDirectory(manifest.directory_path(id.index));
  if (!index) return std::nullopt;
  return Directory{wanted, id.source, *index};
}

std::optional<Filesystem::File> Filesystem::FindFile(uint64_t node) const {
  NodeId id = NodeId::From(node);
  if (node == kRootNode || id.directory || id.generation == 0) return std::nullopt;
  GenerationPtr born = Find(id.source, id.generation);
  if (born == nullptr) return std::nullopt;
  auto files = born->contents->manifest().files();
  if (id.index >= files.size()) return std::nullopt;
  return File{std::move(born), id.index, static_cast<uint64_t>(files[id.index].size)};
}

Attributes Filesystem::OfFile(const Directory& in, uint32_t file) const {
  const model::FilesManifest& manifest = in.generation->contents->manifest();
  const model::FileRecord& record = manifest.files()[file];
  Births::Birth birth = in.generation->births.file(file);
  Attributes out{.node = NodeId{false, in.source, birth.generation, birth.index}.number(),
                 .type = TypeOf(record),
                 .size = static_cast<uint64_t>(record.size),
                 .mtime_ns = record.mtime_ns};
  if (record.is_link()) out.size = manifest.link_target(file).size();
  return out;
}

// Sources have no times of folders: it is the newest file's.
Attributes Filesystem::OfDirectory(const Directory& directory) const {
  const model::FilesManifest& manifest = directory.generation->contents->manifest();
  const model::DirectoryRecord& record = manifest.directories()[directory.index];
  Attributes out{
      .node = DirectoryNode(directory.source, *directory.generation, directory.index),
      .type = FileType::kDirectory,
      .links = 2 + record.directory_count};
  size_t first = std::min<size_t>(record.first_file, manifest.files().size());
  size_t count = std::min<size_t>(record.file_count, manifest.files().size() - first);
  for (const model::FileRecord& file : manifest.files().subspan(first, count)) {
    out.mtime_ns = std::max(out.mtime_ns, file.mtime_ns);
  }
  if (out.mtime_ns == 0) out.mtime_ns = options_.mounted_ns;
  return out;
}

Attributes Filesystem::OfRoot() const {
  return {.node = kRootNode,
          .type = FileType::kDirectory,
          .mtime_ns = options_.mounted_ns,
          .links = 2 + source_count()};
}

int Filesystem::Lookup(uint64_t parent, std::string_view name, Attributes* out) const {
  if (parent == kRootNode && has_folders()) {
    auto found = std::ranges::find(options_.names, name);
    if (found == options_.names.end()) return ENOENT;
    auto source = static_cast<uint32_t>(found - options_.names.begin());
    *out = OfDirectory({Current(source), source, 0});
    return 0;
  }
  auto directory = FindDirectory(parent, 0);
  if (!directory) return ENOENT;
  const model::FilesManifest& manifest = directory->generation->contents->manifest();
  if (auto file = manifest.FindFileIn(directory->index, name)) {
    *out = OfFile(*directory, *file);
    return 0;
  }
  auto below = manifest.FindDirectoryIn(directory->index, name);
  if (!below) return ENOENT;
  *out = OfDirectory({directory->generation, directory->source, *below});
  return 0;
}

int Filesystem::GetAttributes(uint64_t node, Attributes* out) const {
  if (node == kRootNode && has_folders()) {
    *out = OfRoot();
    return 0;
  }
  if (auto file = FindFile(node)) {
    NodeId id = NodeId::From(node);
    *out = OfFile({file->generation, id.source, 0}, file->index);
    out->node = node;
    return 0;
  }
  auto directory = FindDirectory(node, 0);
  if (directory) {
    *out = OfDirectory(*directory);
    return 0;
  }
  // Gone with a refresh, but somebody may still be in it.
  directory = FindDirectory(node, NodeId::From(node).generation);
  if (!directory) return ESTALE;
  *out = OfDirectory(*directory);
  out->links = 0;
  return 0;
}

std::optional<Entry> Filesystem::EntryAt(const Directory& directory,
                                         uint64_t position) const {
  const Generation& generation = *directory.generation;
  const model::FilesManifest& manifest = generation.contents->manifest();
  const model::DirectoryRecord& record = manifest.directories()[directory.index];
  if (position < record.directory_count) {
    auto index = static_cast<uint32_t>(record.first_directory + position);
    if (index >= manifest.directories().size()) return std::nullopt;
    return Entry{.name = manifest.directory_name(index),
                 .node = DirectoryNode(directory.source, generation, index),
                 .type = FileType::kDirectory};
  }
  position -= record.directory_count;
  if (position >= record.file_count) return std::nullopt;
  auto index = static_cast<uint32_t>(record.first_file + position);
  if (index >= manifest.files().size()) return std::nullopt;
  Births::Birth birth = generation.births.file(index);
  return Entry{
      .name = manifest.file_name(index),
      .node = NodeId{false, directory.source, birth.generation, birth.index}.number(),
      .type = TypeOf(manifest.files()[index])};
}

int Filesystem::ListSources(uint64_t cookie,
                            const std::function<bool(const Entry&)>& each) const {
  for (uint64_t at = cookie; at < kDots + source_count(); ++at) {
    Entry entry{
        .name = at == 0 ? "." : "..", .node = kRootNode, .type = FileType::kDirectory};
    if (at >= kDots) {
      auto source = static_cast<uint32_t>(at - kDots);
      entry.name = options_.names[source];
      entry.node = DirectoryNode(source, *Current(source), 0);
      entry.current = true;
    }
    entry.next = at + 1;
    if (!each(entry)) break;
  }
  return 0;
}

int Filesystem::List(uint64_t node, uint64_t cookie,
                     const std::function<bool(const Entry&)>& each) const {
  if (node == kRootNode && has_folders()) return ListSources(cookie, each);
  if (FindFile(node)) return ENOTDIR;
  auto directory = FindDirectory(node, static_cast<uint32_t>(cookie >> kCookieBits));
  if (!directory) return cookie == 0 ? ENOENT : 0;
  uint32_t generation = directory->generation->number;
  bool current = Current(directory->source)->number == generation;
  for (uint64_t at = cookie & kPositionMask;; ++at) {
    std::optional<Entry> entry;
    if (at < kDots) {
      entry =
          Entry{.name = at == 0 ? "." : "..", .node = node, .type = FileType::kDirectory};
    } else {
      entry = EntryAt(*directory, at - kDots);
      if (!entry) return 0;
      if (entry->name.size() > kNameBytesMax) continue;
      entry->current = current;
    }
    entry->next = Cookie(generation, at + 1);
    if (!each(*entry)) return 0;
  }
}

int Filesystem::ReadLink(uint64_t node, std::string* out) const {
  auto file = FindFile(node);
  if (!file) return FindDirectory(node, 0) ? EINVAL : ESTALE;
  *out = file->generation->contents->manifest().link_target(file->index);
  return out->empty() ? EINVAL : 0;
}

int Filesystem::ExtendedAttribute(uint64_t node, std::string_view name,
                                  std::string* out) const {
  if (auto file = FindFile(node)) {
    const model::FilesManifest& manifest = file->generation->contents->manifest();
    if (name == kEtag) *out = manifest.etag(file->index);
    if (name == kVersion) *out = manifest.version().ToHex();
    return out->empty() ? ENODATA : 0;
  }
  auto directory = FindDirectory(node, 0);
  if (!directory || name != kVersion || (node == kRootNode && has_folders())) {
    return ENODATA;
  }
  *out = directory->generation->contents->manifest().version().ToHex();
  return 0;
}

std::vector<std::string> Filesystem::ExtendedAttributeNames(uint64_t node) const {
  std::vector<std::string> names;
  for (std::string_view name : {kEtag, kVersion}) {
    std::string value;
    if (ExtendedAttribute(node, name, &value) == 0) names.emplace_back(name);
  }
  return names;
}

std::optional<Pieces> Filesystem::TryRead(const File& file, uint64_t offset,
                                          uint64_t size) {
  Pieces pieces;
  uint64_t end = offset < file.size ? std::min(size, file.size - offset) + offset : 0;
  while (offset < end) {
    auto piece = file.generation->contents->TryAt(file.index, offset);
    if (!piece || piece->bytes.empty()) return std::nullopt;
    piece->bytes = piece->bytes.substr(0, end - offset);
    offset += piece->bytes.size();
    pieces.push_back(*std::move(piece));
  }
  return pieces;
}

Result<Pieces> Filesystem::Read(const File& file, uint64_t offset, uint64_t size,
                                Deadline deadline) {
  Pieces pieces;
  uint64_t end = offset < file.size ? std::min(size, file.size - offset) + offset : 0;
  while (offset < end) {
    FB_ASSIGN_OR_RETURN(FileBytes piece,
                        file.generation->contents->At(file.index, offset, deadline));
    if (piece.bytes.empty()) return Status::Corrupt("a chunk of a file is too short");
    piece.bytes = piece.bytes.substr(0, end - offset);
    offset += piece.bytes.size();
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

Filesystem::Totals Filesystem::totals() const {
  Totals totals;
  for (uint32_t source = 0; source < source_count(); ++source) {
    const model::FilesManifest& manifest = Current(source)->contents->manifest();
    totals.bytes += manifest.file_bytes();
    totals.files += manifest.files().size() + manifest.directories().size();
  }
  return totals;
}

Filesystem::Sizes Filesystem::sizes() const {
  Sizes sizes;
  for (uint32_t source = 0; source < source_count(); ++source) {
    const model::FilesManifest& manifest = Current(source)->contents->manifest();
    auto count = static_cast<uint32_t>(manifest.files().size());
    uint32_t step = std::max(1U, count / kSampledFiles);
    for (uint32_t file = 0; file < count; file += step) {
      const model::FileRecord& record = manifest.files()[file];
      bool whole = record.pack == model::kNoPack && manifest.ChunkCount(file) == 1;
      if (whole) sizes.whole_bytes += step * static_cast<uint64_t>(record.size);
    }
    sizes.files += count;
  }
  return sizes;
}

}  // namespace forebay::fuse
