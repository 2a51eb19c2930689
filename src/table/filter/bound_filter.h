// A filter that knows the table's columns: what pruning and evaluation work on.
#pragma once

#include <arrow/record_batch.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/live_rows.h"
#include "table/filter/parse.h"
#include "table/iceberg/types.h"
#include "table/iceberg/value.h"

namespace forebay::table::filter {

// A column that a filter looks at.
struct Column {
  int32_t id = -1;                // of the field itself, which may be inside structs
  int32_t top_level_id = -1;      // of the outermost field
  iceberg::Type type;             // primitive, except below "is null"
  std::vector<std::string> path;  // names from the top level down
  std::vector<std::string> chunk_path;  // what they are called in batches: "id3", "id7"

  bool nested() const { return path.size() > 1; }
};

// Values are of the column's type, never null or NaN; of kIn and kNotIn ascending,
// without doubles, at least two.
struct Predicate {
  Operator op = Operator::kIsNull;
  uint32_t column = 0;  // index into BoundFilter::columns()
  std::vector<iceberg::Value> values{};
};

// No negation: it has been pushed into the predicates. So a row is kept where the tree
// is true when every comparison with null counts as false.
struct Node {
  enum class Kind : uint8_t { kTrue, kFalse, kAnd, kOr, kPredicate };
  Kind kind = Kind::kTrue;
  std::vector<Node> children{};  // of kAnd and kOr, at least two
  Predicate predicate{};
};

// Immutable, cheap to copy, thread-safe.
class BoundFilter {
 public:
  BoundFilter(std::vector<Column> columns, Node root);

  const std::vector<Column>& columns() const { return tree_->columns; }
  const Node& root() const { return tree_->root; }
  bool always_true() const { return root().kind == Node::Kind::kTrue; }
  bool always_false() const { return root().kind == Node::Kind::kFalse; }

  // The top-level fields that Apply needs, ascending. Of a plain table: column indices.
  std::vector<int32_t> NeededFieldIds() const;
  // What they are called in batches, in the same order.
  std::vector<std::string> NeededChunkNames() const;

  // Filters that mean the same by their form have the same text, whatever their spelling.
  std::string ToString() const;

  // Kills the rows of `live` that don't match: the batch's first row is `first_row`
  // there. The batch has the needed fields, by chunk name, in the table's types; others
  // don't matter.
  Status Apply(const arrow::RecordBatch& batch, uint64_t first_row,
               model::LiveRows* live) const;

 private:
  struct Tree {
    std::vector<Column> columns;
    Node root;
  };
  std::shared_ptr<const Tree> tree_;
};

}  // namespace forebay::table::filter
