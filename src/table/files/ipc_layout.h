// Where the messages of an Arrow IPC file or stream are, found without reading bodies.
#pragma once

#include <arrow/result.h>
#include <arrow/type.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "table/files/footer_cache.h"
#include "table/files/object_file.h"
#include "table/files/table_file.h"

namespace forebay::table {

struct IpcBlock {
  int64_t offset = 0;
  int64_t metadata_bytes = 0;  // with its prefix and padding
  int64_t body_bytes = 0;
};

struct IpcBatch {
  IpcBlock block;
  uint32_t dictionaries_before = 0;  // messages this batch may refer to
  GroupLayout layout;
  // Per column, where its buffers are in the body; empty where the metadata is odd.
  std::vector<arrow::io::ReadRange> column_ranges;
};

struct IpcLayout : Footer {
  std::shared_ptr<arrow::Schema> schema;
  IpcBlock schema_block;
  std::vector<IpcBlock> dictionaries;
  // Of the dictionary with the longest values: how many bytes one has on average.
  uint64_t dictionary_value_bytes = 0;
  std::vector<IpcBatch> batches;
};

// Files and streams are told apart by their first bytes, not by their names.
arrow::Result<std::shared_ptr<const IpcLayout>> ReadIpcLayout(
    const std::shared_ptr<ObjectFile>& file);

}  // namespace forebay::table
