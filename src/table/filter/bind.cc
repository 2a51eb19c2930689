#include "table/filter/bind.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "table/filter/canonical_text.h"
#include "table/filter/find_column.h"
#include "table/filter/literal.h"

namespace forebay::table::filter {
namespace {

using iceberg::Type;
using iceberg::TypeId;
using iceberg::Value;

Operator Negation(Operator op) {
  switch (op) {
    case Operator::kLess: return Operator::kGreaterEqual;
    case Operator::kLessEqual: return Operator::kGreater;
    case Operator::kGreater: return Operator::kLessEqual;
    case Operator::kGreaterEqual: return Operator::kLess;
    case Operator::kEqual: return Operator::kNotEqual;
    case Operator::kNotEqual: return Operator::kEqual;
    case Operator::kIn: return Operator::kNotIn;
    case Operator::kNotIn: return Operator::kIn;
    case Operator::kIsNull: return Operator::kIsNotNull;
    case Operator::kIsNotNull: return Operator::kIsNull;
    case Operator::kIsNan: return Operator::kIsNotNan;
    case Operator::kIsNotNan: return Operator::kIsNan;
    case Operator::kStartsWith: return Operator::kNotStartsWith;
    case Operator::kNotStartsWith: return Operator::kStartsWith;
  }
  return op;
}

Node Constant(bool value) {
  return {.kind = value ? Node::Kind::kTrue : Node::Kind::kFalse};
}

Node Leaf(uint32_t column, Operator op, std::vector<Value> values = {}) {
  return {.kind = Node::Kind::kPredicate,
          .predicate = {.op = op, .column = column, .values = std::move(values)}};
}

bool IsFloat(const Type& type) {
  return type.id == TypeId::kFloat || type.id == TypeId::kDouble;
}

class Binder {
 public:
  // What columns are called in batches, by field id.
  using ChunkNames = std::map<int32_t, std::string>;

  Binder(const Filter& filter, const iceberg::Schema& schema, const ChunkNames* names)
      : filter_(filter), schema_(schema), names_(names) {}

  Result<BoundFilter> Run() {
    FB_ASSIGN_OR_RETURN(Node root, BindNode(filter_.root, false));
    return BoundFilter(std::move(columns_), std::move(root));
  }

 private:
  Status Error(Place place, std::string_view message) const {
    return ErrorAt(filter_.text, place, message);
  }

  // Negations go down to the predicates, where they have an opposite.
  Result<Node> BindNode(const Expression& expression, bool negated) {
    using Kind = Expression::Kind;
    switch (expression.kind) {
      case Kind::kNot: return BindNode(expression.children.front(), !negated);
      case Kind::kConstant: return Constant(expression.value != negated);
      case Kind::kColumn: return BindFlag(expression, negated);
      case Kind::kPredicate:
        return BindPredicate(expression,
                             negated ? Negation(expression.op) : expression.op);
      default: break;
    }
    std::vector<Node> children;
    for (const Expression& child : expression.children) {
      FB_ASSIGN_OR_RETURN(Node node, BindNode(child, negated));
      children.push_back(std::move(node));
    }
    bool is_and = (expression.kind == Kind::kAnd) != negated;
    return JoinNodes(is_and ? Node::Kind::kAnd : Node::Kind::kOr, std::move(children),
                     columns_);
  }

  Result<uint32_t> BindColumn(const ColumnName& name) {
    auto found = FindColumn(name, schema_);
    if (!found.ok()) return Error(name.place, found.status().message());
    const std::vector<const iceberg::Field*>& trail = *found;
    const iceberg::Field& field = *trail.back();
    if (!field.type.supported()) {
      return Status(StatusCode::kUnsupported,
                    Error(name.place, fmt::format("column '{}' has a type that filters "
                                                  "can't look at ({}): filter by others",
                                                  field.name, field.type.ToString()))
                        .message());
    }
    auto [index, is_new] =
        index_of_.try_emplace(field.id, static_cast<uint32_t>(columns_.size()));
    if (is_new) columns_.push_back(MakeColumn(trail));
    return index->second;
  }

  Column MakeColumn(const std::vector<const iceberg::Field*>& trail) const {
    Column column{.id = trail.back()->id,
                  .top_level_id = trail.front()->id,
                  .type = trail.back()->type,
                  .path = {},
                  .chunk_path = {}};
    for (const iceberg::Field* field : trail) {
      column.path.push_back(field->name);
      column.chunk_path.push_back(names_ != nullptr ? names_->at(field->id)
                                                    : fmt::format("id{}", field->id));
    }
    return column;
  }

  Result<Node> BindFlag(const Expression& expression, bool negated) {
    FB_ASSIGN_OR_RETURN(uint32_t column, BindColumn(expression.column));
    const Type& type = columns_[column].type;
    if (type.id != TypeId::kBoolean) {
      return Error(expression.column.place,
                   fmt::format("this column is not a boolean but {}: compare it with a "
                               "value, or write 'is not null'",
                               type.ToString()));
    }
    return Leaf(column, Operator::kEqual, {!negated});
  }

  Result<Node> BindPredicate(const Expression& expression, Operator op) {
    FB_ASSIGN_OR_RETURN(uint32_t column, BindColumn(expression.column));
    FB_RETURN_NOT_OK(CheckOperator(expression, columns_[column].type));
    if (op == Operator::kIn || op == Operator::kNotIn) {
      return BindList(expression, op, column);
    }
    if (expression.literals.empty()) return Leaf(column, op);
    FB_ASSIGN_OR_RETURN(Located literal, LocateAt(expression.literals.front(), column));
    if (op == Operator::kStartsWith || op == Operator::kNotStartsWith) {
      return BindPrefix(op, column, std::move(literal.value));
    }
    return BindComparison(op, column, literal);
  }

  Status CheckOperator(const Expression& expression, const Type& type) const {
    Place place = expression.column.place;
    bool nan = expression.op == Operator::kIsNan || expression.op == Operator::kIsNotNan;
    if (nan && !IsFloat(type)) {
      return Error(place, fmt::format("this column is {} and has no NaN: leave the test "
                                      "out, or write 'is null'",
                                      type.ToString()));
    }
    if (expression.op == Operator::kStartsWith && type.id != TypeId::kString &&
        type.id != TypeId::kBinary) {
      return Error(place, fmt::format("'like' is for strings, and this column is {}: "
                                      "compare it with <, = or >",
                                      type.ToString()));
    }
    return Status::OK();
  }

  Result<Located> LocateAt(const Literal& literal, uint32_t column) const {
    auto located = Locate(literal, columns_[column].type);
    if (!located.ok()) return Error(literal.place, located.status().message());
    return located;
  }

  Node BindPrefix(Operator op, uint32_t column, Value prefix) {
    if (!std::get<std::string>(prefix).empty()) {
      return Leaf(column, op, {std::move(prefix)});
    }
    // Everything begins with nothing.
    return op == Operator::kStartsWith ? Leaf(column, Operator::kIsNotNull)
                                       : Constant(false);
  }

  Node BindComparison(Operator op, uint32_t column, const Located& literal) {
    switch (literal.position) {
      case Position::kExact: return Leaf(column, op, {literal.value});
      case Position::kNan: return CompareWithNan(op, column);
      case Position::kBelow:
        return Settled(column, op == Operator::kGreater ||
                                   op == Operator::kGreaterEqual ||
                                   op == Operator::kNotEqual);
      case Position::kAbove:
        return Settled(column, op == Operator::kLess || op == Operator::kLessEqual ||
                                   op == Operator::kNotEqual);
      case Position::kBetween: break;
    }
    switch (op) {
      case Operator::kLess:
      case Operator::kLessEqual:
        return Leaf(column, Operator::kLessEqual, {literal.value});
      case Operator::kGreater:
      case Operator::kGreaterEqual:
        return Leaf(column, Operator::kGreater, {literal.value});
      default: return Settled(column, op == Operator::kNotEqual);
    }
  }

  // The same for every value, and never true for null.
  Node Settled(uint32_t column, bool outcome) {
    return outcome ? Leaf(column, Operator::kIsNotNull) : Constant(false);
  }

  // NaN equals itself and is above everything else.
  Node CompareWithNan(Operator op, uint32_t column) {
    switch (op) {
      case Operator::kLessEqual: return Leaf(column, Operator::kIsNotNull);
      case Operator::kGreater: return Constant(false);
      case Operator::kEqual:
      case Operator::kGreaterEqual: return Leaf(column, Operator::kIsNan);
      default: break;
    }
    return JoinNodes(
        Node::Kind::kAnd,
        {Leaf(column, Operator::kIsNotNan), Leaf(column, Operator::kIsNotNull)},
        columns_);
  }

  // Literals that are no value of the type can't be in the list's way.
  Result<Node> BindList(const Expression& expression, Operator op, uint32_t column) {
    std::vector<Value> values;
    bool nan = false;
    for (const Literal& literal : expression.literals) {
      FB_ASSIGN_OR_RETURN(Located located, LocateAt(literal, column));
      if (located.position == Position::kNan) nan = true;
      if (located.position == Position::kExact) values.push_back(located.value);
    }
    std::ranges::sort(values, std::less<Value>());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    bool is_in = op == Operator::kIn;
    Node node = Settled(column, !is_in);
    if (values.size() == 1) {
      node =
          Leaf(column, is_in ? Operator::kEqual : Operator::kNotEqual, std::move(values));
    } else if (values.size() > 1) {
      node = Leaf(column, op, std::move(values));
    }
    if (!nan) return node;
    Operator other = is_in ? Operator::kIsNan : Operator::kIsNotNan;
    return JoinNodes(is_in ? Node::Kind::kOr : Node::Kind::kAnd,
                     {std::move(node), Leaf(column, other)}, columns_);
  }

  const Filter& filter_;
  const iceberg::Schema& schema_;
  const ChunkNames* names_;
  std::vector<Column> columns_;
  std::map<int32_t, uint32_t> index_of_;  // by field id
};

// Both trees have the same shape, except that maps have no entries field here.
void CollectNames(const std::vector<model::Field>& from,
                  const std::vector<iceberg::Field>& to, Binder::ChunkNames* names) {
  for (size_t i = 0; i < to.size(); ++i) {
    names->emplace(to[i].id, from[i].ChunkName());
    if (to[i].type.id == TypeId::kStruct) {
      CollectNames(from[i].children, to[i].type.fields, names);
    }
  }
}

}  // namespace

Result<BoundFilter> Bind(const Filter& filter, const iceberg::Schema& schema) {
  return Binder(filter, schema, nullptr).Run();
}

Result<BoundFilter> Bind(const Filter& filter, const model::Schema& schema) {
  iceberg::Schema converted = FromPlainSchema(schema);
  Binder::ChunkNames names;
  CollectNames(schema.fields, converted.fields, &names);
  return Binder(filter, converted, &names).Run();
}

}  // namespace forebay::table::filter
