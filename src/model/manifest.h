// The manifest of a table version: schema, objects, fill units, row ranges. One immutable
// block of bytes, mapped not parsed (docs/formats/manifest.md). Only the schema is
// decoded.
//
//   object  a source file with its identity
//   piece   consecutive groups (Parquet row groups, IPC batches, ORC stripes) of an
//           object
//   unit    fill unit: consecutive pieces decoded together; its ranges follow each other
//   range   consecutive rows of one unit; with a column group it names a chunk
//
// Chunks hold the stored rows: those of the files. Rows of the version are the live ones
// among them: a range with deleted or filtered rows has a selection.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "model/live_rows.h"
#include "model/object.h"
#include "model/schema.h"
#include "model/selection.h"

namespace forebay::model {

enum class FileFormat : uint32_t {
  kParquet = 0,
  kIpcFile = 1,
  kIpcStream = 2,
  kOrc = 3,
  kAvro = 4
};

struct ObjectRecord {
  uint64_t uri_offset;
  uint64_t etag_offset;
  uint32_t uri_size;
  uint32_t etag_size;
  int64_t size;
  int64_t mtime_ns;
  int64_t ctime_ns;
  uint64_t inode;
  uint64_t row_count;
  uint64_t context_offset;  // what the table knows of the object besides its bytes
  uint32_t context_size;
  FileFormat format;
};

struct PieceRecord {
  uint64_t row_count;
  uint32_t object;
  uint32_t first_group;
  uint32_t group_count;
  uint32_t reserved;
};

struct UnitRecord {
  Hash128 content;  // of everything its rows depend on
  uint64_t first_row;
  uint64_t row_count;
  uint64_t stored_rows;  // in its chunks, live or not
  uint32_t first_piece;
  uint32_t piece_count;
  uint32_t first_range;
  uint32_t range_count;
};

struct RangeRecord {
  uint64_t first_row;
  uint64_t offset;     // of its first stored row in the unit
  uint64_t selection;  // where its selection begins, in words
  uint32_t row_count;  // live rows; may be 0
  uint32_t stored_rows;
  uint32_t unit;
  SelectionKind selection_kind;
};

class Manifest {
 public:
  static constexpr uint32_t kFormatVersion = 3;

  // A checked view of `bytes`, which `owner` keeps alive. An unknown format version is
  // kUnsupported; anything that does not add up is kCorrupt.
  static Result<std::shared_ptr<const Manifest>> View(std::string_view bytes,
                                                      std::shared_ptr<const void> owner);

  const Hash128& version() const { return version_; }
  uint64_t row_count() const { return row_count_; }
  std::string_view origin() const { return origin_; }
  std::string_view bytes() const { return bytes_; }
  const Schema& schema() const { return schema_; }

  std::span<const ObjectRecord> objects() const { return objects_; }
  std::span<const PieceRecord> pieces() const { return pieces_; }
  std::span<const UnitRecord> units() const { return units_; }
  std::span<const RangeRecord> ranges() const { return ranges_; }

  std::string_view uri(const ObjectRecord& object) const;
  std::string_view context(uint32_t object) const;
  // Which rows of a range's chunks are rows of the version.
  Selection selection(const RangeRecord& range) const;
  Object object(uint32_t index) const;
  // True when this column is a chunk of its own in the ranges of this unit.
  bool IsWide(uint32_t unit, uint32_t column) const;
  // The range that holds a row. The row must be below row_count(), so there is one.
  uint32_t RangeOf(uint64_t row) const;

 private:
  Manifest() = default;
  Status Check() const;
  Status CheckSelection(const RangeRecord& range) const;

  std::shared_ptr<const void> owner_;
  std::string_view bytes_;
  Hash128 version_;
  uint64_t row_count_ = 0;
  Schema schema_;
  std::string_view origin_;
  std::string_view text_;
  std::span<const ObjectRecord> objects_;
  std::span<const PieceRecord> pieces_;
  std::span<const UnitRecord> units_;
  std::span<const RangeRecord> ranges_;
  std::span<const uint64_t> wide_;
  std::span<const uint64_t> selections_;
  uint32_t wide_words_ = 0;
};

// Fill in order: objects, then units with their pieces and ranges.
class ManifestBuilder {
 public:
  struct Options {
    Hash128 version;
    std::string origin;
    Schema schema;
  };
  struct Piece {
    uint32_t object;
    uint32_t first_group;
    uint32_t group_count;
    uint64_t row_count;
  };
  struct Unit {
    std::vector<Piece> pieces;
    std::vector<uint32_t> range_rows;  // add up to the pieces' rows
    std::vector<uint32_t> wide_columns;
    // What the rows depend on besides the objects (values in folder names): part of the
    // unit's content hash.
    std::string context;
    std::vector<LiveRows> live{};  // per range; empty: all rows of all ranges
  };
  struct ObjectDetails {
    uint64_t row_count = 0;  // stored rows
    FileFormat format = FileFormat::kParquet;
    std::string context{};  // kept for whoever decodes the object
  };

  explicit ManifestBuilder(Options options);
  uint32_t AddObject(const Object& object, const ObjectDetails& details);
  void AddUnit(const Unit& unit);
  std::string Finish();

 private:
  void AddRanges(const Unit& unit);

  Options options_;
  std::vector<Hash128> object_hashes_;
  std::string text_;
  std::vector<ObjectRecord> objects_;
  std::vector<PieceRecord> pieces_;
  std::vector<UnitRecord> units_;
  std::vector<RangeRecord> ranges_;
  std::vector<uint64_t> wide_;
  std::vector<uint64_t> selections_;
  uint64_t row_count_ = 0;
};

}  // namespace forebay::model
