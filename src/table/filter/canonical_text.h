// Bound filters in one form and one spelling.
#pragma once

#include <string>
#include <vector>

#include "table/filter/bound_filter.h"

namespace forebay::table::filter {

// Columns by what they are called in batches, so that a rename changes nothing.
std::string CanonicalText(const Node& node, const std::vector<Column>& columns);

// Joins by kAnd or kOr: flat, sorted by text, without doubles; constants are folded.
Node JoinNodes(Node::Kind kind, std::vector<Node> children,
               const std::vector<Column>& columns);

}  // namespace forebay::table::filter
