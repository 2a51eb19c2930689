#include "table/filter/bound_filter.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "table/filter/canonical_text.h"

namespace forebay::table::filter {
namespace {

void ForEachPredicate(Node* node, const std::function<void(Predicate*)>& visit) {
  if (node->kind == Node::Kind::kPredicate) visit(&node->predicate);
  for (Node& child : node->children) ForEachPredicate(&child, visit);
}

}  // namespace

// Folding may have left columns behind that nothing looks at any more.
BoundFilter::BoundFilter(std::vector<Column> columns, Node root) {
  auto tree = std::make_shared<Tree>();
  tree->root = std::move(root);
  std::map<uint32_t, uint32_t> kept;
  ForEachPredicate(&tree->root, [&](Predicate* predicate) {
    auto [found, is_new] =
        kept.try_emplace(predicate->column, static_cast<uint32_t>(tree->columns.size()));
    if (is_new) tree->columns.push_back(columns[predicate->column]);
    predicate->column = found->second;
  });
  tree_ = std::move(tree);
}

std::vector<int32_t> BoundFilter::NeededFieldIds() const {
  std::set<int32_t> ids;
  for (const Column& column : columns()) ids.insert(column.top_level_id);
  return {ids.begin(), ids.end()};
}

std::vector<std::string> BoundFilter::NeededChunkNames() const {
  std::map<int32_t, std::string> names;
  for (const Column& column : columns()) {
    names.emplace(column.top_level_id, column.chunk_path.front());
  }
  std::vector<std::string> out;
  for (auto& [id, name] : names) out.push_back(std::move(name));
  return out;
}

std::string BoundFilter::ToString() const { return CanonicalText(root(), columns()); }

}  // namespace forebay::table::filter
