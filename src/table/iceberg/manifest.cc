#include "table/iceberg/manifest.h"

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <utility>

#include "table/avro/container.h"
#include "table/avro/decoder.h"
#include "table/iceberg/entry_reader.h"

namespace forebay::table::iceberg {
namespace {

Status BadFile(const DataFile& file, std::string_view why) {
  return Status::Corrupt(
      fmt::format("a manifest entry makes no sense: {}: file={}", why, file.path));
}

// What every live entry must satisfy, whatever wrote it.
Status CheckEntry(const ManifestEntry& entry, bool holds_deletes) {
  const DataFile& file = entry.file;
  if (file.path.empty()) return BadFile(file, "it names no file");
  if (entry.encrypted) {
    return Status::Unsupported("encrypted files are not supported: file=" + file.path);
  }
  if (entry.unknown_format) {
    return Status::Unsupported("the file's format is not supported: file=" + file.path);
  }
  if (file.record_count < 0 || file.file_size < 0) {
    return BadFile(file, "it has a negative size");
  }
  bool deletes = file.content != FileContent::kData;
  if (deletes != holds_deletes) {
    return BadFile(file, "data and delete files are in one manifest");
  }
  if (file.content == FileContent::kEqualityDeletes && file.equality_ids.empty()) {
    return BadFile(file, "an equality delete file names no columns");
  }
  if (!file.is_deletion_vector()) return Status::OK();
  if (file.content != FileContent::kPositionDeletes) {
    return BadFile(file, "only deletion vectors are Puffin files");
  }
  if (file.referenced_data_file.empty() || !entry.has_content_range ||
      file.content_offset < 0 || file.content_size < 0) {
    return BadFile(file,
                   "a deletion vector does not say where it lies and what it is of");
  }
  return Status::OK();
}

// Reads the entries in order, so that what they inherit can be counted up.
class Contents {
 public:
  Contents(const ManifestRequest& request, bool has_sequence_numbers)
      : request_(request),
        has_sequence_numbers_(has_sequence_numbers),
        next_row_id_(request.manifest->first_row_id) {}

  Status Add(ManifestEntry&& entry) {
    if (entry.status == EntryStatus::kDeleted) return Status::OK();
    ++(entry.status == EntryStatus::kAdded ? added_ : existing_);
    FB_RETURN_NOT_OK(CheckEntry(entry, request_.manifest->holds_deletes));
    FB_RETURN_NOT_OK(InheritSequenceNumber(&entry));
    FB_RETURN_NOT_OK(InheritRowId(&entry.file));
    Keep(std::move(entry));
    return Status::OK();
  }

  Result<ManifestContents> Finish() && {
    const ManifestFile& manifest = *request_.manifest;
    if ((manifest.added_files && *manifest.added_files != added_) ||
        (manifest.existing_files && *manifest.existing_files != existing_)) {
      return Status::Corrupt(fmt::format(
          "the manifest holds other files than its list counts: added={} expected={} "
          "existing={} expected={}",
          added_, manifest.added_files.value_or(added_), existing_,
          manifest.existing_files.value_or(existing_)));
    }
    return std::move(contents_);
  }

 private:
  Status InheritSequenceNumber(ManifestEntry* entry) const {
    int64_t inherited = request_.manifest->sequence_number;
    if (request_.metadata->format_version == 1) {
      entry->file.sequence_number = 0;
    } else if (entry->sequence_number) {
      entry->file.sequence_number = *entry->sequence_number;
    } else if (entry->status == EntryStatus::kAdded || inherited == 0) {
      entry->file.sequence_number = inherited;
    } else if (!has_sequence_numbers_) {
      entry->file.sequence_number = 0;  // kept from the time of version 1
    } else {
      return BadFile(entry->file, "it is not new but has no sequence number");
    }
    return Status::OK();
  }

  // Row ids are counted over all live files of the manifest that have none of their own.
  Status InheritRowId(DataFile* file) {
    if (!next_row_id_ || file->content != FileContent::kData) {
      file->first_row_id.reset();
      return Status::OK();
    }
    if (file->first_row_id) return Status::OK();
    file->first_row_id = *next_row_id_;
    if (__builtin_add_overflow(*next_row_id_, file->record_count, &*next_row_id_)) {
      return BadFile(*file, "its row ids overflow");
    }
    return Status::OK();
  }

  void Keep(ManifestEntry&& entry) {
    bool data = entry.file.content == FileContent::kData;
    bool kept = !entry.ruled_out;
    if (kept && data && request_.filter != nullptr) {
      kept = request_.filter->MayMatch(entry.file);
    }
    if (!kept) {
      contents_.files_skipped += data ? 1 : 0;
      return;
    }
    (data ? contents_.data : contents_.deletes).push_back(std::move(entry.file));
  }

  const ManifestRequest& request_;
  bool has_sequence_numbers_;
  std::optional<int64_t> next_row_id_;
  int64_t added_ = 0;
  int64_t existing_ = 0;
  ManifestContents contents_;
};

Result<ManifestContents> ReadEntries(const avro::Header& header, std::string_view blocks,
                                     const EntryReader& reader,
                                     const ManifestRequest& request) {
  FB_ASSIGN_OR_RETURN(auto block_reader, avro::BlockReader::Make(header, blocks));
  EntryReader::Options options{.filter = request.filter,
                               .keep_metrics = request.keep_metrics ||
                                               request.filter != nullptr ||
                                               request.manifest->holds_deletes};
  Contents contents(request, reader.has_sequence_numbers());
  for (avro::Block block;;) {
    FB_ASSIGN_OR_RETURN(bool more, block_reader.Next(&block));
    if (!more) return std::move(contents).Finish();
    avro::Decoder decoder(block.bytes);
    for (int64_t row = 0; row < block.row_count && decoder.ok(); ++row) {
      ManifestEntry entry;
      reader.Read(decoder, options, &entry);
      if (decoder.ok()) FB_RETURN_NOT_OK(contents.Add(std::move(entry)));
    }
    FB_RETURN_NOT_OK(decoder.Finish("the manifest"));
  }
}

int32_t SpecIdOf(const avro::Header& header) {
  auto it = header.metadata.find("partition-spec-id");
  int32_t id = 0;
  if (it != header.metadata.end()) {
    std::from_chars(it->second.data(), it->second.data() + it->second.size(), id);
  }
  return id;
}

bool HoldsDeletes(const avro::Header& header) {
  auto it = header.metadata.find("content");
  return it != header.metadata.end() && it->second == "deletes";
}

}  // namespace

Result<ManifestContents> ParseManifest(std::string_view bytes,
                                       const ManifestRequest& request) {
  const ManifestFile& manifest = *request.manifest;
  FB_ASSIGN_OR_RETURN(avro::Header header, avro::ParseHeader(bytes));
  const PartitionSpec* spec = request.metadata->FindSpec(manifest.spec_id);
  if (spec == nullptr) {
    return Status::Corrupt(fmt::format(
        "the manifest's partition spec is not in the table metadata: spec-id={}",
        manifest.spec_id));
  }
  FB_ASSIGN_OR_RETURN(EntryReader reader,
                      EntryReader::Make(header.schema, *request.metadata, *spec));
  std::string_view blocks = bytes.substr(header.size);
  auto contents = ReadEntries(header, blocks, reader, request);
  bool retry = !contents.ok() && contents.status().code() == StatusCode::kCorrupt &&
               reader.partitions().has_fixed();
  if (!retry) return contents;
  reader.partitions().set_fixed_has_length(true);
  auto second = ReadEntries(header, blocks, reader, request);
  return second.ok() ? std::move(second) : std::move(contents);
}

Result<ManifestFile> DescribeManifest(std::string_view bytes) {
  FB_ASSIGN_OR_RETURN(avro::Header header, avro::ParseHeader(bytes));
  ManifestFile manifest;
  manifest.length = static_cast<int64_t>(bytes.size());
  manifest.spec_id = SpecIdOf(header);
  manifest.holds_deletes = HoldsDeletes(header);
  return manifest;
}

}  // namespace forebay::table::iceberg
