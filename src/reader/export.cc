#include "reader/export.h"

#include <memory>
#include <string>
#include <utility>

namespace forebay::reader {
namespace {

using Metadata = std::vector<std::pair<std::string, std::string>>;

// Owns everything an exported schema points to.
struct SchemaHolder {
  std::string format;
  std::string name;
  std::string metadata;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> child_pointers;
};

struct ArrayHolder {
  Column column;
  std::array<const void*, 3> buffers{};
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> child_pointers;
};

// A consumer may move a child out; then it has released itself of its parent.
template <typename T>
void ReleaseChildren(T* parent) {
  for (int64_t i = 0; i < parent->n_children; ++i) {
    T* child = parent->children[i];
    if (child->release != nullptr) child->release(child);
  }
}

void ReleaseSchema(ArrowSchema* schema) {
  ReleaseChildren(schema);
  delete static_cast<SchemaHolder*>(schema->private_data);
  schema->release = nullptr;
}

void ReleaseArray(ArrowArray* array) {
  ReleaseChildren(array);
  delete static_cast<ArrayHolder*>(array->private_data);
  array->release = nullptr;
}

// Count, then for each pair the sizes and bytes of key and value, all in native order.
std::string EncodeMetadata(std::span<const std::pair<std::string, std::string>> pairs) {
  if (pairs.empty()) return {};
  Encoder out;
  out.Put(static_cast<int32_t>(pairs.size()));
  for (const auto& [key, value] : pairs) {
    out.PutString(key);
    out.PutString(value);
  }
  return out.Take();
}

template <typename Holder>
void LinkChildren(Holder* holder) {
  for (auto& child : holder->children) holder->child_pointers.push_back(&child);
}

void Publish(std::unique_ptr<SchemaHolder> holder, int64_t flags, ArrowSchema* out) {
  LinkChildren(holder.get());
  *out = {};
  out->format = holder->format.c_str();
  out->name = holder->name.c_str();
  out->metadata = holder->metadata.empty() ? nullptr : holder->metadata.data();
  out->flags = flags;
  out->n_children = static_cast<int64_t>(holder->children.size());
  out->children = holder->child_pointers.data();
  out->release = ReleaseSchema;
  out->private_data = holder.release();
}

int64_t ExportedNulls(const Column& column) {
  if (column.null_count == Column::kUnknownNulls) return -1;
  return static_cast<int64_t>(column.null_count);
}

}  // namespace

void ExportField(const model::Field& field, ArrowSchema* out) {
  auto holder = std::make_unique<SchemaHolder>();
  holder->format = field.format;
  holder->name = field.name;
  holder->metadata = EncodeMetadata(field.metadata);
  holder->children.resize(field.children.size());
  for (size_t i = 0; i < field.children.size(); ++i) {
    ExportField(field.children[i], &holder->children[i]);
  }
  Publish(std::move(holder), field.nullable ? ARROW_FLAG_NULLABLE : 0, out);
}

void ExportSchema(std::span<const model::Field* const> fields,
                  std::span<const std::pair<std::string, std::string>> metadata,
                  ArrowSchema* out) {
  auto holder = std::make_unique<SchemaHolder>();
  holder->format = "+s";
  holder->metadata = EncodeMetadata(metadata);
  holder->children.resize(fields.size());
  for (size_t i = 0; i < fields.size(); ++i)
    ExportField(*fields[i], &holder->children[i]);
  Publish(std::move(holder), 0, out);
}

void ExportColumn(Column column, ArrowArray* out) {
  auto holder = std::make_unique<ArrayHolder>();
  holder->column = std::move(column);
  Column& kept = holder->column;
  for (size_t i = 0; i < kept.buffers.size(); ++i) {
    holder->buffers[i] = kept.buffers[i].data;
  }
  holder->children.resize(kept.children.size());
  for (size_t i = 0; i < kept.children.size(); ++i) {
    ExportColumn(std::move(kept.children[i]), &holder->children[i]);
  }
  LinkChildren(holder.get());
  *out = {};
  out->length = static_cast<int64_t>(kept.length);
  out->null_count = ExportedNulls(kept);
  out->offset = static_cast<int64_t>(kept.offset);
  out->n_buffers = BufferCount(kept.type.layout);
  out->n_children = static_cast<int64_t>(holder->children.size());
  out->buffers = holder->buffers.data();
  out->children = holder->child_pointers.data();
  out->release = ReleaseArray;
  out->private_data = holder.release();
}

void ExportBatch(std::vector<Column> columns, uint64_t length, ArrowArray* out) {
  Column batch;
  batch.type = {Layout::kStruct, 0};
  batch.length = length;
  batch.children = std::move(columns);
  ExportColumn(std::move(batch), out);
}

}  // namespace forebay::reader
