// Decodes the entries of one manifest, whatever its Avro schema looks like.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "table/avro/decoder.h"
#include "table/avro/schema.h"
#include "table/iceberg/data_file.h"
#include "table/iceberg/partition_reader.h"
#include "table/iceberg/projection.h"
#include "table/iceberg/scan.h"
#include "table/iceberg/table_metadata.h"

namespace forebay::table::iceberg {

enum class EntryStatus : int32_t { kExisting = 0, kAdded = 1, kDeleted = 2 };

struct ManifestEntry {
  EntryStatus status = EntryStatus::kExisting;
  std::optional<int64_t> sequence_number;
  DataFile file;  // of deleted entries: not filled
  bool encrypted = false;
  bool unknown_format = false;
  bool has_content_range = false;  // offset and size are there
  bool ruled_out = false;          // by its partition; its metrics are not kept then
};

class EntryReader {
 public:
  // `schema` is the manifest's and must outlive the reader.
  static Result<EntryReader> Make(const avro::Schema& schema,
                                  const TableMetadata& metadata,
                                  const PartitionSpec& spec);

  // Metrics are decoded when `keep_metrics`, and only for files that the filter's
  // partition test leaves. Damage makes the decoder fail.
  struct Options {
    const FileFilter* filter = nullptr;
    bool keep_metrics = false;
  };
  void Read(avro::Decoder& decoder, const Options& options, ManifestEntry* entry) const;

  bool has_sequence_numbers() const { return has_sequence_numbers_; }
  PartitionReader& partitions() { return partitions_; }

 private:
  void ReadFile(avro::Decoder& decoder, const Options& options,
                ManifestEntry* entry) const;
  void ReadField(avro::Decoder& decoder, const Step& step, ManifestEntry* entry) const;
  void ReadIds(avro::Decoder& decoder, const Step& step, std::vector<int32_t>* ids) const;
  template <typename T>
  void ReadMap(avro::Decoder& decoder, int slot, ById<T>* map) const;

  std::vector<Step> entry_steps_;
  std::vector<Step> file_steps_;
  std::vector<MapSteps> maps_;  // by slot; empty for slots that are no maps
  PartitionReader partitions_;
  int32_t spec_id_ = 0;
  size_t spec_field_count_ = 0;
  bool has_sequence_numbers_ = false;
};

}  // namespace forebay::table::iceberg
