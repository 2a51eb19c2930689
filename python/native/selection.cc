#include "native/selection.h"

#include <algorithm>
#include <numeric>

namespace forebay::python {

Result<Selection> Selection::Make(const model::Schema& schema,
                                  const std::optional<std::vector<std::string>>& names) {
  if (names && names->empty()) {
    return Status::Invalid("no column is asked for: name some, or give None for all");
  }
  Selection selection;
  FB_ASSIGN_OR_RETURN(selection.columns,
                      model::Project(schema, names.value_or(std::vector<std::string>())));
  selection.places.resize(selection.columns.size());
  if (!names) {
    std::iota(selection.places.begin(), selection.places.end(), 0);
    return selection;
  }
  for (size_t i = 0; i < names->size(); ++i) {
    uint32_t column = *schema.Find((*names)[i]);
    auto found = std::ranges::lower_bound(selection.columns, column);
    selection.places[i] = static_cast<uint32_t>(found - selection.columns.begin());
  }
  return selection;
}

ArrowFields Selection::FieldsOf(
    const std::shared_ptr<const model::Manifest>& manifest) const {
  ArrowFields out{manifest, {}};
  for (uint32_t place : places) {
    out.fields.push_back(&manifest->schema().fields[columns[place]]);
  }
  return out;
}

std::vector<reader::Column> Selection::Arrange(
    std::vector<reader::Column> columns) const {
  if (std::ranges::is_sorted(places)) return columns;
  std::vector<reader::Column> arranged;
  arranged.reserve(columns.size());
  for (uint32_t place : places) arranged.push_back(std::move(columns[place]));
  return arranged;
}

}  // namespace forebay::python
