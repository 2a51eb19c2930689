#include "reader/request/column_choice.h"

#include <algorithm>
#include <numeric>

namespace forebay::reader {

Result<ColumnChoice> ColumnChoice::Make(
    const model::Schema& schema, const std::optional<std::vector<std::string>>& names) {
  if (names && names->empty()) {
    return Status::Invalid("no column is asked for: name some, or give None for all");
  }
  ColumnChoice choice;
  FB_ASSIGN_OR_RETURN(choice.columns,
                      model::Project(schema, names.value_or(std::vector<std::string>())));
  choice.places.resize(choice.columns.size());
  if (!names) {
    std::iota(choice.places.begin(), choice.places.end(), 0);
    return choice;
  }
  for (size_t i = 0; i < names->size(); ++i) {
    uint32_t column = *schema.Find((*names)[i]);
    auto found = std::ranges::lower_bound(choice.columns, column);
    choice.places[i] = static_cast<uint32_t>(found - choice.columns.begin());
  }
  return choice;
}

Result<ColumnChoice> ColumnChoice::Of(
    const RemoteTable& table, const std::optional<std::vector<std::string>>& names) {
  const model::Schema& schema = table.manifest()->schema();
  if (names || table.shown_columns().empty()) return Make(schema, names);
  return Make(schema, table.shown_columns());
}

std::vector<const model::Field*> ColumnChoice::Fields(const model::Schema& schema) const {
  std::vector<const model::Field*> fields;
  fields.reserve(places.size());
  for (uint32_t place : places) fields.push_back(&schema.fields[columns[place]]);
  return fields;
}

std::vector<Column> ColumnChoice::Arrange(std::vector<Column> in) const {
  if (std::ranges::is_sorted(places)) return in;
  std::vector<Column> arranged;
  arranged.reserve(in.size());
  for (uint32_t place : places) arranged.push_back(std::move(in[place]));
  return arranged;
}

}  // namespace forebay::reader
