// The key columns of rows, as equality deletes compare them: null equals null, NaN equals
// NaN, and 0 is not -0, as in Spark.
#pragma once

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace forebay::table::live {

// What a field is called in batches, from the outermost: {"id3", "id7"}.
using ChunkPath = std::vector<std::string>;

// Keys of a batch's rows. Refers to the batch's memory.
class KeyColumns {
 public:
  // kUnsupported for keys that are no primitives.
  static Result<KeyColumns> Make(const arrow::RecordBatch& batch,
                                 const std::vector<ChunkPath>& paths);

  int64_t row_count() const { return row_count_; }
  // True: different keys without nulls have different hashes, so the hash is the key.
  bool hash_is_key() const { return hash_is_key_; }
  bool HasNull(int64_t row) const {
    for (const auto& column : columns_) {
      if (column->IsNull(row)) return true;
    }
    return false;
  }
  bool MayHaveNulls() const;

  // Of rows [first, first + count).
  void Hash(int64_t first, int64_t count, uint64_t* out) const;
  // Bytes that are equal when the keys are.
  void Encode(int64_t row, std::string* out) const;

 private:
  std::vector<std::shared_ptr<arrow::Array>> columns_;
  int64_t row_count_ = 0;
  bool hash_is_key_ = false;
};

// Whether keys of these types are told apart by their hash.
bool HashIsKey(const std::vector<std::shared_ptr<arrow::DataType>>& types);

}  // namespace forebay::table::live
