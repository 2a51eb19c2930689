#include "reader/request/mask.h"

#include <cstring>
#include <memory>

namespace forebay::reader {

const model::Field& MaskField() {
  static const model::Field field{.name = "__mask__",
                                  .format = "b",
                                  .nullable = false,
                                  .metadata = {},
                                  .children = {}};
  return field;
}

Status CheckMaskName(const model::Schema& schema) {
  if (!schema.Find(MaskField().name)) return Status::OK();
  return Status::Invalid("the table has a column named " + MaskField().name +
                         ", which remainder=\"pad\" needs for itself");
}

Status AddMask(BufferPool& pool, Batch* batch) {
  uint64_t bytes = (batch->row_count + 7) / 8;
  auto bits = std::make_shared<PooledBuffer>(pool.Take(bytes));
  if (bits->data() == nullptr) return Status::Full("there is no memory for a batch");
  std::memset(bits->data(), 0, bytes);
  for (uint64_t i = 0; i < batch->row_count - batch->filler_count; ++i) {
    bits->data()[i / 8] |= static_cast<uint8_t>(1U << (i % 8));
  }
  Column mask;
  mask.field = &MaskField();
  mask.type = {Layout::kBool, 0};
  mask.length = batch->row_count;
  mask.buffers[1] = {bits->data(), bytes};
  mask.owner = std::move(bits);
  mask.writable = true;
  batch->columns.push_back(std::move(mask));
  return Status::OK();
}

}  // namespace forebay::reader
