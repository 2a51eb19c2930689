#include "table/iceberg/entry_reader.h"

#include <algorithm>
#include <string>
#include <utility>

namespace forebay::table::iceberg {
namespace {

enum EntrySlot { kStatus, kSequenceNumber, kDataFile };

constexpr WantedField kEntryFields[] = {
    {0, "status", kStatus, Shape::kInteger, true},
    {3, "sequence_number", kSequenceNumber, Shape::kInteger},
    {2, "data_file", kDataFile, Shape::kRecord, true},
};

// Slots of maps come first: they index EntryReader::maps_.
enum FileSlot {
  kValueCounts,
  kNullCounts,
  kNanCounts,
  kLowerBounds,
  kUpperBounds,
  kMapSlotCount,
  kContent,
  kPath,
  kFormat,
  kPartition,
  kRecordCount,
  kFileSize,
  kKeyMetadata,
  kEqualityIds,
  kFirstRowId,
  kReferencedDataFile,
  kContentOffset,
  kContentSize,
};

constexpr WantedField kFileFields[] = {
    {134, "content", kContent, Shape::kInteger},
    {100, "file_path", kPath, Shape::kText, true},
    {101, "file_format", kFormat, Shape::kText, true},
    {102, "partition", kPartition, Shape::kRecord},
    {103, "record_count", kRecordCount, Shape::kInteger, true},
    {104, "file_size_in_bytes", kFileSize, Shape::kInteger, true},
    {109, "value_counts", kValueCounts, Shape::kIdMap},
    {110, "null_value_counts", kNullCounts, Shape::kIdMap},
    {137, "nan_value_counts", kNanCounts, Shape::kIdMap},
    {125, "lower_bounds", kLowerBounds, Shape::kIdMap},
    {128, "upper_bounds", kUpperBounds, Shape::kIdMap},
    {131, "key_metadata", kKeyMetadata, Shape::kBytes},
    {135, "equality_ids", kEqualityIds, Shape::kList},
    {142, "first_row_id", kFirstRowId, Shape::kInteger},
    {143, "referenced_data_file", kReferencedDataFile, Shape::kText},
    {144, "content_offset", kContentOffset, Shape::kInteger},
    {145, "content_size_in_bytes", kContentSize, Shape::kInteger},
};

std::optional<ContentFormat> FormatOf(std::string_view text) {
  constexpr std::pair<std::string_view, ContentFormat> kFormats[] = {
      {"parquet", ContentFormat::kParquet},
      {"orc", ContentFormat::kOrc},
      {"avro", ContentFormat::kAvro},
      {"puffin", ContentFormat::kPuffin},
  };
  auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  for (const auto& [name, format] : kFormats) {
    if (std::ranges::equal(text, name, {}, lower)) return format;
  }
  return std::nullopt;
}

void Assign(avro::Decoder& decoder, int64_t* value) { *value = decoder.Long(); }
void Assign(avro::Decoder& decoder, std::string* value) { *value = decoder.Bytes(); }

}  // namespace

Result<EntryReader> EntryReader::Make(const avro::Schema& schema,
                                      const TableMetadata& metadata,
                                      const PartitionSpec& spec) {
  EntryReader reader;
  reader.spec_id_ = spec.id;
  reader.spec_field_count_ = spec.fields.size();
  reader.maps_.resize(kMapSlotCount);
  FB_ASSIGN_OR_RETURN(reader.entry_steps_, Project(schema, kEntryFields));
  for (const Step& step : reader.entry_steps_) {
    if (step.slot == kSequenceNumber) reader.has_sequence_numbers_ = true;
    if (step.slot != kDataFile) continue;
    FB_ASSIGN_OR_RETURN(reader.file_steps_, Project(*step.type, kFileFields));
  }
  for (const Step& step : reader.file_steps_) {
    if (step.slot == kPartition) {
      FB_ASSIGN_OR_RETURN(reader.partitions_,
                          PartitionReader::Make(*step.type, metadata, spec));
    } else if (step.slot >= 0 && step.slot < kMapSlotCount) {
      bool bounds = step.slot == kLowerBounds || step.slot == kUpperBounds;
      FB_ASSIGN_OR_RETURN(
          reader.maps_[step.slot],
          ProjectMap(*step.type, bounds ? Shape::kBytes : Shape::kInteger));
    }
  }
  return reader;
}

void EntryReader::Read(avro::Decoder& decoder, const Options& options,
                       ManifestEntry* entry) const {
  for (const Step& step : entry_steps_) {
    // Nothing of a deleted file is needed.
    bool skip = step.slot == kSkipSlot ||
                (step.slot == kDataFile && entry->status == EntryStatus::kDeleted);
    if (skip) {
      decoder.Skip(*step.field);
    } else if (!decoder.Present(step.null_branch)) {
      if (step.slot != kSequenceNumber) decoder.Fail();
    } else if (step.slot == kStatus) {
      int32_t status = decoder.Int();
      if (status < 0 || status > 2) decoder.Fail();
      entry->status = static_cast<EntryStatus>(status);
    } else if (step.slot == kSequenceNumber) {
      entry->sequence_number = decoder.Long();
    } else {
      ReadFile(decoder, options, entry);
    }
  }
}

void EntryReader::ReadFile(avro::Decoder& decoder, const Options& options,
                           ManifestEntry* entry) const {
  DataFile& file = entry->file;
  file.spec_id = spec_id_;
  file.partition.resize(spec_field_count_);
  bool keep_metrics = options.keep_metrics;
  for (const Step& step : file_steps_) {
    bool metrics = step.slot >= 0 && step.slot < kMapSlotCount;
    if (step.slot == kSkipSlot || (metrics && !keep_metrics)) {
      decoder.Skip(*step.field);
    } else if (!decoder.Present(step.null_branch)) {
      continue;
    } else if (step.slot == kPartition) {
      partitions_.Read(decoder, &file.partition);
      if (options.filter != nullptr && decoder.ok() &&
          !options.filter->PartitionMayMatch(file)) {
        entry->ruled_out = true;
        keep_metrics = false;
      }
    } else {
      ReadField(decoder, step, entry);
    }
  }
}

void EntryReader::ReadField(avro::Decoder& decoder, const Step& step,
                            ManifestEntry* entry) const {
  DataFile& file = entry->file;
  switch (step.slot) {
    case kContent: {
      int32_t content = decoder.Int();
      if (content < 0 || content > 2) decoder.Fail();
      file.content = static_cast<FileContent>(content);
      break;
    }
    case kPath: file.path = decoder.Bytes(); break;
    case kFormat: {
      auto format = FormatOf(decoder.Bytes());
      entry->unknown_format = !format;
      if (format) file.format = *format;
      break;
    }
    case kRecordCount: file.record_count = decoder.Long(); break;
    case kFileSize: file.file_size = decoder.Long(); break;
    case kValueCounts: ReadMap(decoder, step.slot, &file.value_counts); break;
    case kNullCounts: ReadMap(decoder, step.slot, &file.null_counts); break;
    case kNanCounts: ReadMap(decoder, step.slot, &file.nan_counts); break;
    case kLowerBounds: ReadMap(decoder, step.slot, &file.lower_bounds); break;
    case kUpperBounds: ReadMap(decoder, step.slot, &file.upper_bounds); break;
    case kKeyMetadata: entry->encrypted = !decoder.Bytes().empty(); break;
    case kEqualityIds: ReadIds(decoder, step, &file.equality_ids); break;
    case kFirstRowId: file.first_row_id = decoder.Long(); break;
    case kReferencedDataFile: file.referenced_data_file = decoder.Bytes(); break;
    case kContentOffset: file.content_offset = decoder.Long(); break;
    case kContentSize:
      file.content_size = decoder.Long();
      entry->has_content_range = true;
      break;
    default: break;
  }
}

void EntryReader::ReadIds(avro::Decoder& decoder, const Step& step,
                          std::vector<int32_t>* ids) const {
  const avro::Schema& item = step.type->children[0];
  const avro::Kind kind = item.nullable_type().kind;
  if (kind != avro::Kind::kInt && kind != avro::Kind::kLong) return decoder.Fail();
  int null_branch = item.null_branch();
  while (int64_t count = decoder.ItemCount(item.bytes_min)) {
    for (int64_t i = 0; i < count && decoder.ok(); ++i) {
      if (decoder.Present(null_branch)) ids->push_back(decoder.Int());
    }
  }
}

template <typename T>
void EntryReader::ReadMap(avro::Decoder& decoder, int slot, ById<T>* map) const {
  const MapSteps& item = maps_[slot];
  while (int64_t count = decoder.ItemCount(item.item_bytes_min)) {
    map->reserve(map->size() + static_cast<size_t>(count));
    for (int64_t i = 0; i < count && decoder.ok(); ++i) {
      if (!decoder.Present(item.item_null_branch)) continue;
      std::pair<int32_t, T> pair;
      bool has_value = false;
      for (const Step& step : item.steps) {
        if (step.slot == kSkipSlot) {
          decoder.Skip(*step.field);
        } else if (!decoder.Present(step.null_branch)) {
          continue;
        } else if (step.slot == MapSteps::kKey) {
          pair.first = decoder.Int();
        } else {
          has_value = true;
          Assign(decoder, &pair.second);
        }
      }
      if (has_value) map->push_back(std::move(pair));
    }
  }
  auto by_id = [](const auto& a, const auto& b) { return a.first < b.first; };
  if (!std::ranges::is_sorted(*map, by_id)) std::ranges::sort(*map, by_id);
}

}  // namespace forebay::table::iceberg
