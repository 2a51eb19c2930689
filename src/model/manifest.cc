#include "model/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace forebay::model {
namespace {

constexpr char kMagic[8] = {'F', 'B', 'M', 'A', 'N', 'I', 'F', '\n'};

struct Section {
  uint64_t offset;
  uint64_t count;  // of records; of bytes for text
};

struct Header {
  char magic[8];
  uint32_t format_version;
  uint32_t reserved;
  Hash128 version;
  uint64_t size;
  uint64_t row_count;
  Section schema;
  Section origin;
  Section text;
  Section objects;
  Section pieces;
  Section units;
  Section ranges;
  Section wide;
  Section selections;
};
static_assert(sizeof(Header) == 48 + 9 * 16);

template <typename T>
Status Cut(std::string_view bytes, const Section& section, std::span<const T>* out) {
  bool aligned = section.offset % 8 == 0 || sizeof(T) == 1;
  if (!aligned || section.offset > bytes.size() ||
      section.count > (bytes.size() - section.offset) / sizeof(T)) {
    return Status::Corrupt("the manifest has a section outside itself");
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

Section Append(std::string& out, const void* data, size_t count, size_t width) {
  out.resize((out.size() + 7) / 8 * 8);
  Section section{out.size(), count};
  if (count > 0) out.append(static_cast<const char*>(data), count * width);
  return section;
}

template <typename T>
Section Append(std::string& out, const std::vector<T>& records) {
  return Append(out, records.data(), records.size(), sizeof(T));
}

Status Wrong(std::string_view what) {
  return Status::Corrupt(fmt::format("the manifest does not add up: {}", what));
}

}  // namespace

Result<std::shared_ptr<const Manifest>> Manifest::View(
    std::string_view bytes, std::shared_ptr<const void> owner) {
  Header header;
  if (bytes.size() < sizeof(header)) return Status::Corrupt("the manifest is too short");
  if (reinterpret_cast<uintptr_t>(bytes.data()) % 8 != 0) return Wrong("alignment");
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0) {
    return Status::Corrupt("these bytes are not a manifest");
  }
  if (header.format_version != kFormatVersion) {
    return Status::Unsupported(fmt::format("the manifest has format version {}, not {}",
                                           header.format_version, kFormatVersion));
  }
  if (header.size != bytes.size()) return Wrong("size");
  auto manifest = std::shared_ptr<Manifest>(new Manifest());
  manifest->owner_ = std::move(owner);
  manifest->bytes_ = bytes;
  manifest->version_ = header.version;
  manifest->row_count_ = header.row_count;
  std::string_view schema;
  FB_RETURN_NOT_OK(CutText(bytes, header.schema, &schema));
  FB_RETURN_NOT_OK(CutText(bytes, header.origin, &manifest->origin_));
  FB_RETURN_NOT_OK(CutText(bytes, header.text, &manifest->text_));
  FB_RETURN_NOT_OK(Cut(bytes, header.objects, &manifest->objects_));
  FB_RETURN_NOT_OK(Cut(bytes, header.pieces, &manifest->pieces_));
  FB_RETURN_NOT_OK(Cut(bytes, header.units, &manifest->units_));
  FB_RETURN_NOT_OK(Cut(bytes, header.ranges, &manifest->ranges_));
  FB_RETURN_NOT_OK(Cut(bytes, header.wide, &manifest->wide_));
  FB_RETURN_NOT_OK(Cut(bytes, header.selections, &manifest->selections_));
  FB_ASSIGN_OR_RETURN(manifest->schema_, Schema::Decode(schema));
  manifest->wide_words_ =
      static_cast<uint32_t>((manifest->schema_.fields.size() + 63) / 64);
  FB_RETURN_NOT_OK(manifest->Check());
  return std::shared_ptr<const Manifest>(std::move(manifest));
}

Status Manifest::Check() const {
  if (wide_.size() != units_.size() * wide_words_) return Wrong("wide columns");
  auto in_text = [&](uint64_t offset, uint32_t size) {
    return offset <= text_.size() && size <= text_.size() - offset;
  };
  for (const ObjectRecord& object : objects_) {
    if (!in_text(object.uri_offset, object.uri_size) ||
        !in_text(object.etag_offset, object.etag_size) ||
        !in_text(object.context_offset, object.context_size)) {
      return Wrong("object names");
    }
    if (object.format > FileFormat::kAvro) return Wrong("file format");
  }
  for (const PieceRecord& piece : pieces_) {
    if (piece.object >= objects_.size()) return Wrong("pieces");
  }
  uint64_t row = 0;
  uint32_t next_range = 0;
  uint32_t next_piece = 0;
  for (uint32_t i = 0; i < units_.size(); ++i) {
    const UnitRecord& unit = units_[i];
    if (unit.first_piece != next_piece ||
        unit.piece_count > pieces_.size() - unit.first_piece ||
        unit.first_range != next_range ||
        unit.range_count > ranges_.size() - unit.first_range || unit.first_row != row) {
      return Wrong("units");
    }
    uint64_t stored = 0;
    for (uint32_t r = 0; r < unit.range_count; ++r, ++next_range) {
      const RangeRecord& range = ranges_[next_range];
      if (range.unit != i || range.first_row != row || range.offset != stored) {
        return Wrong("ranges");
      }
      FB_RETURN_NOT_OK(CheckSelection(range));
      row += range.row_count;
      stored += range.stored_rows;
    }
    uint64_t piece_rows = 0;
    for (uint32_t p = 0; p < unit.piece_count; ++p, ++next_piece) {
      uint64_t rows = pieces_[next_piece].row_count;
      if (rows > unit.stored_rows - piece_rows) return Wrong("rows of a piece");
      piece_rows += rows;
    }
    if (row - unit.first_row != unit.row_count || piece_rows != unit.stored_rows ||
        stored != unit.stored_rows) {
      return Wrong("rows of a unit");
    }
  }
  if (next_piece != pieces_.size()) return Wrong("pieces");
  if (next_range != ranges_.size() || row != row_count_) return Wrong("rows");
  return Status::OK();
}

// Bounds and counts only: what a selection says is checked when it is made (and, like all
// of the manifest, by its checksum), since gigabytes of bitmaps are not read at an open.
Status Manifest::CheckSelection(const RangeRecord& range) const {
  if (range.stored_rows == 0) return Wrong("empty ranges");
  if (range.selection_kind == SelectionKind::kAll) {
    return range.row_count == range.stored_rows ? Status::OK() : Wrong("live rows");
  }
  if (range.selection_kind > SelectionKind::kGaps64) return Wrong("kinds of selections");
  uint64_t words =
      Selection::WordCount({range.selection_kind, range.row_count, range.stored_rows});
  if (range.row_count >= range.stored_rows || range.selection > selections_.size() ||
      words > selections_.size() - range.selection) {
    return Wrong("selections");
  }
  return Status::OK();
}

std::string_view Manifest::context(uint32_t object) const {
  const ObjectRecord& record = objects_[object];
  return text_.substr(record.context_offset, record.context_size);
}

Selection Manifest::selection(const RangeRecord& range) const {
  if (range.selection_kind == SelectionKind::kAll) return Selection(range.row_count);
  return {selections_.data() + range.selection,
          {range.selection_kind, range.row_count, range.stored_rows}};
}

std::string_view Manifest::uri(const ObjectRecord& object) const {
  return text_.substr(object.uri_offset, object.uri_size);
}

Object Manifest::object(uint32_t index) const {
  const ObjectRecord& record = objects_[index];
  ObjectIdentity identity{
      .size = record.size,
      .etag = std::string(text_.substr(record.etag_offset, record.etag_size)),
      .mtime_ns = record.mtime_ns,
      .ctime_ns = record.ctime_ns,
      .inode = record.inode};
  return {std::string(uri(record)), std::move(identity)};
}

bool Manifest::IsWide(uint32_t unit, uint32_t column) const {
  uint64_t word = wide_[static_cast<size_t>(unit) * wide_words_ + column / 64];
  return ((word >> (column % 64)) & 1) != 0;
}

uint32_t Manifest::RangeOf(uint64_t row) const {
  auto after = std::ranges::upper_bound(ranges_, row, {}, &RangeRecord::first_row);
  return static_cast<uint32_t>(after - ranges_.begin() - 1);
}

ManifestBuilder::ManifestBuilder(Options options) : options_(std::move(options)) {}

uint32_t ManifestBuilder::AddObject(const Object& object, const ObjectDetails& details) {
  ObjectRecord record{};
  record.uri_offset = text_.size();
  record.uri_size = static_cast<uint32_t>(object.uri.size());
  text_ += object.uri;
  record.etag_offset = text_.size();
  record.etag_size = static_cast<uint32_t>(object.identity.etag.size());
  text_ += object.identity.etag;
  record.size = object.identity.size;
  record.mtime_ns = object.identity.mtime_ns;
  record.ctime_ns = object.identity.ctime_ns;
  record.inode = object.identity.inode;
  record.row_count = details.row_count;
  record.format = details.format;
  record.context_offset = text_.size();
  record.context_size = static_cast<uint32_t>(details.context.size());
  text_ += details.context;
  objects_.push_back(record);
  object_hashes_.push_back(object.ContentHash(options_.origin));
  return static_cast<uint32_t>(objects_.size() - 1);
}

void ManifestBuilder::AddUnit(const Unit& unit) {
  UnitRecord record{};
  Hasher content;
  record.first_row = row_count_;
  record.first_piece = static_cast<uint32_t>(pieces_.size());
  record.piece_count = static_cast<uint32_t>(unit.pieces.size());
  content.Update(&record.piece_count, sizeof(record.piece_count));
  for (const Piece& piece : unit.pieces) {
    content.Update(&object_hashes_[piece.object], sizeof(Hash128));
    content.Update(&piece.first_group, sizeof(piece.first_group));
    content.Update(&piece.group_count, sizeof(piece.group_count));
    record.stored_rows += piece.row_count;
    pieces_.push_back({.row_count = piece.row_count,
                       .object = piece.object,
                       .first_group = piece.first_group,
                       .group_count = piece.group_count,
                       .reserved = 0});
  }
  content.Update(unit.context);
  record.content = content.Digest();
  record.first_range = static_cast<uint32_t>(ranges_.size());
  record.range_count = static_cast<uint32_t>(unit.range_rows.size());
  AddRanges(unit);
  record.row_count = row_count_ - record.first_row;
  units_.push_back(record);
  size_t words = (options_.schema.fields.size() + 63) / 64;
  size_t base = wide_.size();
  wide_.resize(base + words);
  for (uint32_t column : unit.wide_columns) {
    wide_[base + column / 64] |= uint64_t{1} << (column % 64);
  }
}

void ManifestBuilder::AddRanges(const Unit& unit) {
  uint64_t offset = 0;
  for (size_t i = 0; i < unit.range_rows.size(); ++i) {
    RangeRecord range{};
    range.first_row = row_count_;
    range.offset = offset;
    range.row_count = range.stored_rows = unit.range_rows[i];
    range.unit = static_cast<uint32_t>(units_.size());
    if (!unit.live.empty() && !unit.live[i].all()) {
      FB_CHECK(unit.live[i].row_count == range.stored_rows);
      range.row_count = static_cast<uint32_t>(unit.live[i].Count());
      if (range.row_count < range.stored_rows) {
        Selection::Appended appended = Selection::Append(unit.live[i], &selections_);
        range.selection = appended.offset;
        range.selection_kind = appended.kind;
      }
    }
    row_count_ += range.row_count;
    offset += range.stored_rows;
    ranges_.push_back(range);
  }
}

std::string ManifestBuilder::Finish() {
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.format_version = Manifest::kFormatVersion;
  header.version = options_.version;
  header.row_count = row_count_;
  std::string out(sizeof(header), '\0');
  std::string schema = options_.schema.Encode();
  header.schema = Append(out, schema.data(), schema.size(), 1);
  header.origin = Append(out, options_.origin.data(), options_.origin.size(), 1);
  header.text = Append(out, text_.data(), text_.size(), 1);
  header.objects = Append(out, objects_);
  header.pieces = Append(out, pieces_);
  header.units = Append(out, units_);
  header.ranges = Append(out, ranges_);
  header.wide = Append(out, wide_);
  out.resize((out.size() + 63) / 64 * 64);  // dense selections are read by cache lines
  header.selections = Append(out, selections_);
  header.size = out.size();
  std::memcpy(out.data(), &header, sizeof(header));
  return out;
}

}  // namespace forebay::model
