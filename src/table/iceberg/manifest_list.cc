#include "table/iceberg/manifest_list.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "table/avro/container.h"
#include "table/avro/decoder.h"
#include "table/iceberg/projection.h"

namespace forebay::table::iceberg {
namespace {

enum ManifestSlot {
  kManifestPath,
  kManifestLength,
  kManifestSpecId,
  kManifestContent,
  kManifestSequenceNumber,
  kManifestAddedSnapshotId,
  kManifestAddedFiles,
  kManifestExistingFiles,
  kManifestPartitions,
  kManifestKeyMetadata,
  kManifestFirstRowId,
};

constexpr WantedField kManifestFields[] = {
    {500, "manifest_path", kManifestPath, Shape::kText, true},
    {501, "manifest_length", kManifestLength, Shape::kInteger, true},
    {502, "partition_spec_id", kManifestSpecId, Shape::kInteger, true},
    {517, "content", kManifestContent, Shape::kInteger},
    {515, "sequence_number", kManifestSequenceNumber, Shape::kInteger},
    {503, "added_snapshot_id", kManifestAddedSnapshotId, Shape::kInteger},
    {504, "added_files_count", kManifestAddedFiles, Shape::kInteger},
    {504, "added_data_files_count", kManifestAddedFiles, Shape::kInteger},
    {505, "existing_files_count", kManifestExistingFiles, Shape::kInteger},
    {505, "existing_data_files_count", kManifestExistingFiles, Shape::kInteger},
    {507, "partitions", kManifestPartitions, Shape::kList},
    {519, "key_metadata", kManifestKeyMetadata, Shape::kBytes},
    {520, "first_row_id", kManifestFirstRowId, Shape::kInteger},
};

enum SummarySlot { kContainsNull, kContainsNan, kLower, kUpper };

constexpr WantedField kSummaryFields[] = {
    {509, "contains_null", kContainsNull, Shape::kBoolean, true},
    {518, "contains_nan", kContainsNan, Shape::kBoolean},
    {510, "lower_bound", kLower, Shape::kBytes},
    {511, "upper_bound", kUpper, Shape::kBytes},
};

class ManifestListReader {
 public:
  static Result<ManifestListReader> Make(const avro::Schema& schema) {
    ManifestListReader reader;
    FB_ASSIGN_OR_RETURN(reader.steps_, Project(schema, kManifestFields));
    for (const Step& step : reader.steps_) {
      if (step.slot != kManifestPartitions) continue;
      const avro::Schema& item = step.type->children[0];
      reader.summary_null_branch_ = item.null_branch();
      reader.summary_bytes_min_ = item.bytes_min;
      FB_ASSIGN_OR_RETURN(reader.summary_steps_,
                          Project(item.nullable_type(), kSummaryFields));
    }
    return reader;
  }

  ManifestFile Read(avro::Decoder& decoder) const {
    ManifestFile manifest;
    for (const Step& step : steps_) {
      if (step.slot == kSkipSlot) {
        decoder.Skip(*step.field);
      } else if (decoder.Present(step.null_branch)) {
        ReadField(decoder, step, &manifest);
      }
    }
    return manifest;
  }

 private:
  void ReadField(avro::Decoder& decoder, const Step& step, ManifestFile* manifest) const {
    switch (step.slot) {
      case kManifestPath: manifest->path = decoder.Bytes(); break;
      case kManifestLength: manifest->length = decoder.Long(); break;
      case kManifestSpecId: manifest->spec_id = decoder.Int(); break;
      case kManifestContent: {
        int32_t content = decoder.Int();
        if (content < 0 || content > 1) decoder.Fail();
        manifest->holds_deletes = content == 1;
        break;
      }
      case kManifestSequenceNumber: manifest->sequence_number = decoder.Long(); break;
      case kManifestAddedSnapshotId: manifest->added_snapshot_id = decoder.Long(); break;
      case kManifestAddedFiles: manifest->added_files = decoder.Long(); break;
      case kManifestExistingFiles: manifest->existing_files = decoder.Long(); break;
      case kManifestPartitions: ReadSummaries(decoder, &manifest->partitions); break;
      case kManifestKeyMetadata: manifest->encrypted = !decoder.Bytes().empty(); break;
      case kManifestFirstRowId: manifest->first_row_id = decoder.Long(); break;
      default: break;
    }
  }

  void ReadSummaries(avro::Decoder& decoder,
                     std::vector<PartitionSummary>* summaries) const {
    while (int64_t count = decoder.ItemCount(summary_bytes_min_)) {
      for (int64_t i = 0; i < count && decoder.ok(); ++i) {
        summaries->emplace_back();
        if (decoder.Present(summary_null_branch_)) {
          ReadSummary(decoder, &summaries->back());
        }
      }
    }
  }

  void ReadSummary(avro::Decoder& decoder, PartitionSummary* summary) const {
    for (const Step& step : summary_steps_) {
      if (step.slot == kSkipSlot) {
        decoder.Skip(*step.field);
        continue;
      }
      if (!decoder.Present(step.null_branch)) continue;
      switch (step.slot) {
        case kContainsNull: summary->contains_null = decoder.Boolean(); break;
        case kContainsNan: summary->contains_nan = decoder.Boolean(); break;
        case kLower: summary->lower_bound = std::string(decoder.Bytes()); break;
        case kUpper: summary->upper_bound = std::string(decoder.Bytes()); break;
        default: break;
      }
    }
  }

  std::vector<Step> steps_;
  std::vector<Step> summary_steps_;
  int summary_null_branch_ = -1;
  int64_t summary_bytes_min_ = 0;
};

}  // namespace

Result<std::vector<ManifestFile>> ParseManifestList(std::string_view bytes) {
  FB_ASSIGN_OR_RETURN(avro::Header header, avro::ParseHeader(bytes));
  FB_ASSIGN_OR_RETURN(ManifestListReader reader, ManifestListReader::Make(header.schema));
  FB_ASSIGN_OR_RETURN(auto blocks,
                      avro::BlockReader::Make(header, bytes.substr(header.size)));
  std::vector<ManifestFile> manifests;
  for (avro::Block block;;) {
    FB_ASSIGN_OR_RETURN(bool more, blocks.Next(&block));
    if (!more) return manifests;
    avro::Decoder decoder(block.bytes);
    for (int64_t row = 0; row < block.row_count && decoder.ok(); ++row) {
      manifests.push_back(reader.Read(decoder));
      const ManifestFile& manifest = manifests.back();
      if (manifest.path.empty() || manifest.length < 0) decoder.Fail();
    }
    FB_RETURN_NOT_OK(decoder.Finish("the manifest list"));
  }
}

}  // namespace forebay::table::iceberg
