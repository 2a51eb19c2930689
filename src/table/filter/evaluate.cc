#include "table/filter/evaluate.h"

#include <arrow/array/array_nested.h>
#include <arrow/extension_type.h>
#include <arrow/util/bitmap_ops.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "table/filter/compare.h"

namespace forebay::table::filter {
namespace {

void AndInto(const Mask& other, Mask* mask) {
  for (size_t i = 0; i < mask->size(); ++i) (*mask)[i] &= other[i];
}

void OrInto(const Mask& other, Mask* mask) {
  for (size_t i = 0; i < mask->size(); ++i) (*mask)[i] |= other[i];
}

bool Empty(const Mask& mask) {
  return std::ranges::all_of(mask, [](uint64_t word) { return word == 0; });
}

// A column of the batch: its values, and which rows have one.
struct Found {
  std::shared_ptr<arrow::Array> array;
  Mask valid;
};

// Rows in a null struct have no value either.
void AndValidity(const arrow::Array& array, Mask* valid) {
  if (array.type_id() == arrow::Type::NA) {
    std::ranges::fill(*valid, 0);
    return;
  }
  if (array.null_count() == 0 || array.null_bitmap_data() == nullptr) return;
  Mask bits(valid->size());
  arrow::internal::CopyBitmap(array.null_bitmap_data(), array.offset(), array.length(),
                              reinterpret_cast<uint8_t*>(bits.data()), 0);
  AndInto(bits, valid);
}

std::shared_ptr<arrow::Array> Plain(std::shared_ptr<arrow::Array> array) {
  while (array != nullptr && array->type_id() == arrow::Type::EXTENSION) {
    array = static_cast<const arrow::ExtensionArray&>(*array).storage();
  }
  return array;
}

Result<Found> FindValues(const Column& column, const arrow::RecordBatch& batch) {
  auto missing = [&](const std::string& name) {
    return Status::Internal(
        fmt::format("a filtered column is not among those that were read: column={} "
                    "name={}",
                    column.path.back(), name));
  };
  const std::string& name = column.chunk_path.front();
  Found found{Plain(batch.GetColumnByName(name)), FullMask(batch.num_rows())};
  if (found.array == nullptr) return missing(name);
  AndValidity(*found.array, &found.valid);
  for (size_t i = 1; i < column.chunk_path.size(); ++i) {
    if (found.array->type_id() != arrow::Type::STRUCT) return missing(name);
    const auto& parent = static_cast<const arrow::StructArray&>(*found.array);
    auto child = Plain(parent.GetFieldByName(column.chunk_path[i]));
    if (child == nullptr) return missing(column.chunk_path[i]);
    AndValidity(*child, &found.valid);
    found.array = std::move(child);
  }
  return found;
}

class Evaluation {
 public:
  Evaluation(const BoundFilter& filter, const arrow::RecordBatch& batch)
      : filter_(filter), batch_(batch), columns_(filter.columns().size()) {}

  Result<Mask> Run(const Node& node) {
    switch (node.kind) {
      case Node::Kind::kTrue: return FullMask(batch_.num_rows());
      case Node::Kind::kFalse: return Mask(MaskWords(batch_.num_rows()));
      case Node::Kind::kPredicate: return Test(node.predicate);
      default: break;
    }
    bool is_and = node.kind == Node::Kind::kAnd;
    FB_ASSIGN_OR_RETURN(Mask mask, Run(node.children.front()));
    for (size_t i = 1; i < node.children.size(); ++i) {
      if (is_and && Empty(mask)) break;
      FB_ASSIGN_OR_RETURN(Mask next, Run(node.children[i]));
      is_and ? AndInto(next, &mask) : OrInto(next, &mask);
    }
    return mask;
  }

 private:
  Result<const Found*> Values(uint32_t index) {
    std::optional<Found>& found = columns_[index];
    if (!found) {
      FB_ASSIGN_OR_RETURN(found, FindValues(filter_.columns()[index], batch_));
    }
    return &*found;
  }

  Result<Mask> Test(const Predicate& predicate) {
    const Column& column = filter_.columns()[predicate.column];
    FB_ASSIGN_OR_RETURN(const Found* found, Values(predicate.column));
    Mask mask;
    switch (predicate.op) {
      case Operator::kIsNull:
        mask = found->valid;
        Invert(&mask, batch_.num_rows());
        return mask;
      case Operator::kIsNotNull: return found->valid;
      case Operator::kIsNan:
      case Operator::kIsNotNan: {
        FB_ASSIGN_OR_RETURN(mask, FindNans(column, *found->array));
        AndInto(found->valid, &mask);
        if (predicate.op == Operator::kIsNotNan) Invert(&mask, batch_.num_rows());
        return mask;
      }
      default: break;
    }
    FB_ASSIGN_OR_RETURN(mask, Compare(predicate, column, *found->array));
    AndInto(found->valid, &mask);
    return mask;
  }

  const BoundFilter& filter_;
  const arrow::RecordBatch& batch_;
  std::vector<std::optional<Found>> columns_;
};

}  // namespace

Result<Mask> Evaluate(const BoundFilter& filter, const arrow::RecordBatch& batch) {
  return Evaluation(filter, batch).Run(filter.root());
}

Status BoundFilter::Apply(const arrow::RecordBatch& batch, uint64_t first_row,
                          model::LiveRows* live) const {
  auto rows = static_cast<uint64_t>(batch.num_rows());
  if (first_row > live->row_count || rows > live->row_count - first_row) {
    return Status::Internal(
        fmt::format("a batch has rows beyond those of its file: first={} rows={} of={}",
                    first_row, rows, live->row_count));
  }
  if (always_true()) return Status::OK();
  FB_ASSIGN_OR_RETURN(Mask dead, Evaluate(*this, batch));
  Invert(&dead, batch.num_rows());
  if (Empty(dead)) return Status::OK();
  if (live->all()) live->Materialize();
  uint64_t shift = first_row % 64;
  for (size_t i = 0; i < dead.size(); ++i) {
    size_t word = first_row / 64 + i;
    live->words[word] &= ~(dead[i] << shift);
    uint64_t rest = shift == 0 ? 0 : dead[i] >> (64 - shift);
    if (rest != 0) live->words[word + 1] &= ~rest;
  }
  return Status::OK();
}

}  // namespace forebay::table::filter
