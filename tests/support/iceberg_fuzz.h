// What the fuzzers of Iceberg's formats call. Each takes any bytes at all; the unit tests
// of src/table/iceberg run them over the kept corpus.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "table/avro/container.h"
#include "table/avro/decoder.h"
#include "table/iceberg/deletion_vector.h"
#include "table/iceberg/manifest.h"
#include "table/iceberg/manifest_list.h"
#include "table/iceberg/roaring.h"
#include "table/iceberg/table_metadata.h"
#include "table/iceberg/value.h"

namespace forebay::fuzz {

namespace iceberg = table::iceberg;
namespace avro = table::avro;

inline void VisitFields(const std::vector<iceberg::Field>& fields) {
  for (const iceberg::Field& field : fields) {
    (void)field.type.ToString();
    if (field.initial_default) {
      auto value = iceberg::ValueFromJson(field.type, *field.initial_default);
      if (value.ok()) (void)iceberg::ToString(field.type, *value);
    }
    VisitFields(field.type.fields);
  }
}

inline void FuzzMetadata(std::string_view bytes) {
  auto table = iceberg::ParseTableMetadata(bytes);
  if (!table.ok()) return;
  for (const iceberg::Schema& schema : table->schemas) VisitFields(schema.fields);
  (void)iceberg::ChooseState(*table, {});
  (void)iceberg::ChooseState(*table, {.tag = "gold"});
  (void)iceberg::ChooseState(*table, {.as_of_ms = 1});
  for (const auto& spec : table->specs) {
    for (const auto& field : spec.fields) {
      const iceberg::Type* source = table->SourceType(field.source_id);
      if (source != nullptr) (void)field.transform.ResultType(*source).ToString();
    }
  }
}

// One spec of many types, so that partition tuples of all kinds are read.
inline iceberg::TableMetadata FuzzedTable() {
  iceberg::TableMetadata table;
  table.format_version = 3;
  iceberg::Schema schema;
  iceberg::PartitionSpec spec;
  int32_t id = 1;
  for (const char* name : {"string", "long", "date", "decimal(9,2)", "uuid", "fixed[4]",
                           "double", "boolean", "binary"}) {
    iceberg::Field field;
    field.id = id;
    field.name = name;
    field.type = iceberg::ParsePrimitive(name).ValueOrDie();
    schema.fields.push_back(field);
    spec.fields.push_back({.source_id = id, .field_id = 999 + id, .name = name});
    ++id;
  }
  table.schemas.push_back(schema);
  table.specs.push_back(spec);
  return table;
}

inline void FuzzAvro(std::string_view bytes) {
  auto header = avro::ParseHeader(bytes);
  if (!header.ok()) return;
  auto blocks = avro::BlockReader::Make(*header, bytes.substr(header->size));
  avro::Block block;
  while (blocks.ok()) {
    auto more = blocks->Next(&block);
    if (!more.ok() || !*more) return;
    avro::Decoder decoder(block.bytes);
    for (int64_t row = 0; row < block.row_count && decoder.remaining() > 0; ++row) {
      decoder.Skip(header->schema);
    }
  }
}

inline void FuzzManifest(std::string_view bytes) {
  static const iceberg::TableMetadata kTable = FuzzedTable();
  FuzzAvro(bytes);
  (void)iceberg::ParseManifestList(bytes);
  (void)iceberg::DescribeManifest(bytes);
  for (bool deletes : {false, true}) {
    iceberg::ManifestFile manifest;
    manifest.holds_deletes = deletes;
    manifest.first_row_id = 7;
    iceberg::ManifestRequest request;
    request.metadata = &kTable;
    request.manifest = &manifest;
    request.keep_metrics = true;
    auto contents = iceberg::ParseManifest(bytes, request);
    if (!contents.ok()) continue;
    for (const auto& file : contents->data) {
      if (file.partition.size() != kTable.specs[0].fields.size()) {
        Die(Status::Internal("a partition tuple has a wrong size"));
      }
    }
  }
}

inline void FuzzPuffin(std::string_view bytes) {
  constexpr uint64_t kRows = 1 << 20;
  auto blobs = iceberg::ParsePuffin(bytes);
  if (blobs.ok()) {
    for (const auto& blob : *blobs) {
      (void)iceberg::DecodeDeletionVector(bytes.substr(blob.offset, blob.length), kRows);
    }
  }
  (void)iceberg::DecodeDeletionVector(bytes, kRows);
  // Without the checksum, which no fuzzer guesses.
  auto positions = iceberg::DecodeRoaring64(bytes, kRows);
  if (!positions.ok()) return;
  for (size_t i = 1; i < positions->size(); ++i) {
    if ((*positions)[i - 1] >= (*positions)[i] || (*positions)[i] >= kRows) {
      Die(Status::Internal("positions are out of order"));
    }
  }
}

}  // namespace forebay::fuzz
