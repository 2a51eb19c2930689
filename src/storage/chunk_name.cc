#include "storage/chunk_name.h"

#include <fmt/format.h>

#include <charconv>

namespace forebay::storage {
namespace {

constexpr size_t kHexDigits = 32;
constexpr size_t kSizeAt = 2 * (kHexDigits + 1);

std::optional<model::ChunkKind> ParseKind(std::string_view name) {
  for (auto kind :
       {model::ChunkKind::kTable, model::ChunkKind::kManifest, model::ChunkKind::kFile}) {
    if (KindName(kind) == name) return kind;
  }
  return std::nullopt;
}

}  // namespace

std::string_view KindName(model::ChunkKind kind) {
  switch (kind) {
    case model::ChunkKind::kTable: return "table";
    case model::ChunkKind::kManifest: return "manifest";
    case model::ChunkKind::kFile: return "file";
  }
  return "";
}

std::string BucketName(const Hash128& key) { return key.ToHex().substr(0, 2); }

std::string ChunkName::ToString() const {
  return fmt::format("{}-{}-{}.{}", key.ToHex(), checksum.ToHex(), size, KindName(kind));
}

std::optional<ChunkName> ChunkName::Parse(std::string_view text) {
  size_t dot = text.rfind('.');
  if (dot == text.npos || dot <= kSizeAt) return std::nullopt;
  auto key = Hash128::FromHex(text.substr(0, kHexDigits));
  auto checksum = Hash128::FromHex(text.substr(kHexDigits + 1, kHexDigits));
  auto kind = ParseKind(text.substr(dot + 1));
  if (!key || !checksum || !kind) return std::nullopt;
  ChunkName name{.key = *key, .checksum = *checksum, .size = 0, .kind = *kind};
  std::from_chars(text.data() + kSizeAt, text.data() + dot, name.size);
  // One spelling per chunk: whatever does not come out the same is not ours.
  if (name.ToString() != text) return std::nullopt;
  return name;
}

}  // namespace forebay::storage
