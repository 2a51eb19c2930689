#include "model/chunk.h"

#include "base/bytes.h"

namespace forebay::model {

namespace {

// Hidden columns are made from what the table knows of its files.
void EncodeContexts(const Manifest& manifest, const UnitRecord& unit, Encoder& out) {
  for (uint32_t i = 0; i < unit.piece_count; ++i) {
    out.PutString(manifest.context(manifest.pieces()[unit.first_piece + i].object));
  }
}

}  // namespace

Projection GroupColumns(const Manifest& manifest, uint32_t unit, uint32_t group,
                        const Projection& projection) {
  if (group != kNarrowGroup) return {group};
  Projection columns;
  for (uint32_t column : projection) {
    if (!manifest.IsWide(unit, column)) columns.push_back(column);
  }
  return columns;
}

std::vector<uint32_t> Groups(const Manifest& manifest, uint32_t unit,
                             const Projection& projection) {
  std::vector<uint32_t> groups;
  bool narrow = false;
  for (uint32_t column : projection) {
    if (manifest.IsWide(unit, column)) {
      groups.push_back(column);
    } else {
      narrow = true;
    }
  }
  if (narrow) groups.push_back(kNarrowGroup);
  return groups;
}

Hash128 ChunkKey(const Manifest& manifest, ChunkRef ref, const Projection& projection) {
  const RangeRecord& range = manifest.ranges()[ref.range];
  const UnitRecord& unit = manifest.units()[range.unit];
  Encoder out;
  out.PutString("table chunk");
  out.Put(kChunkFormatVersion);
  out.Put(unit.content.high);
  out.Put(unit.content.low);
  out.Put(range.offset);
  out.Put(range.stored_rows);
  for (uint32_t column : GroupColumns(manifest, range.unit, ref.group, projection)) {
    manifest.schema().fields[column].EncodeType(out);
    if (manifest.schema().fields[column].hidden) EncodeContexts(manifest, unit, out);
  }
  return HashBytes(out.bytes());
}

Hash128 ManifestKey(const Hash128& version) {
  Encoder out;
  out.PutString("manifest");
  out.Put(Manifest::kFormatVersion);
  out.Put(version.high);
  out.Put(version.low);
  return HashBytes(out.bytes());
}

}  // namespace forebay::model
