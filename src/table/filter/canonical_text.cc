#include "table/filter/canonical_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace forebay::table::filter {
namespace {

using Kind = Node::Kind;

std::string_view OperatorText(Operator op) {
  switch (op) {
    case Operator::kLess: return "<";
    case Operator::kLessEqual: return "<=";
    case Operator::kGreater: return ">";
    case Operator::kGreaterEqual: return ">=";
    case Operator::kEqual: return "=";
    case Operator::kNotEqual: return "!=";
    case Operator::kIn: return "in";
    case Operator::kNotIn: return "not in";
    case Operator::kIsNull: return "is null";
    case Operator::kIsNotNull: return "is not null";
    case Operator::kIsNan: return "is nan";
    case Operator::kIsNotNan: return "is not nan";
    case Operator::kStartsWith: return "starts with";
    case Operator::kNotStartsWith: return "not starts with";
  }
  return "?";
}

std::string ColumnText(const Column& column) {
  std::string text;
  for (const std::string& name : column.chunk_path) {
    if (!text.empty()) text += '.';
    text += '"';
    for (char c : name) text += c == '"' ? "\"\"" : std::string(1, c);
    text += '"';
  }
  return text;
}

std::string PredicateText(const Predicate& predicate, const Column& column) {
  std::string text = fmt::format("{} {}", ColumnText(column), OperatorText(predicate.op));
  std::string_view separator = " ";
  for (const iceberg::Value& value : predicate.values) {
    text += separator;
    text += iceberg::ToString(column.type, value);
    separator = ", ";
  }
  return text;
}

}  // namespace

std::string CanonicalText(const Node& node, const std::vector<Column>& columns) {
  switch (node.kind) {
    case Kind::kTrue: return "true";
    case Kind::kFalse: return "false";
    case Kind::kPredicate:
      return PredicateText(node.predicate, columns[node.predicate.column]);
    default: break;
  }
  std::string text;
  std::string_view separator = "(";
  for (const Node& child : node.children) {
    text += separator;
    text += CanonicalText(child, columns);
    separator = node.kind == Kind::kAnd ? " and " : " or ";
  }
  return text + ")";
}

Node JoinNodes(Kind kind, std::vector<Node> children,
               const std::vector<Column>& columns) {
  Kind neutral = kind == Kind::kAnd ? Kind::kTrue : Kind::kFalse;
  Kind absorbing = kind == Kind::kAnd ? Kind::kFalse : Kind::kTrue;
  std::map<std::string, Node> parts;
  auto add = [&](Node&& node) {
    std::string text = CanonicalText(node, columns);
    parts.try_emplace(std::move(text), std::move(node));
  };
  for (Node& child : children) {
    if (child.kind == absorbing) return {.kind = absorbing};
    if (child.kind == neutral) continue;
    if (child.kind != kind) {
      add(std::move(child));
      continue;
    }
    for (Node& inner : child.children) add(std::move(inner));
  }
  if (parts.empty()) return {.kind = neutral};
  if (parts.size() == 1) return std::move(parts.begin()->second);
  Node joined{.kind = kind};
  for (auto& [text, node] : parts) joined.children.push_back(std::move(node));
  return joined;
}

}  // namespace forebay::table::filter
