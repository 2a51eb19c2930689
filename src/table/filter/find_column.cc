#include "table/filter/find_column.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>

namespace forebay::table::filter {
namespace {

using iceberg::Field;
using iceberg::TypeId;
using Fields = std::vector<Field>;
using Parts = std::span<const ColumnName::Part>;
using Trail = std::vector<const Field*>;

constexpr size_t kListedMax = 20;
// Longer names are compared by their beginning.
constexpr size_t kComparedBytes = 64;

std::string JoinParts(Parts parts) {
  std::string name;
  for (const auto& part : parts) {
    if (!name.empty()) name += '.';
    name += part.name;
  }
  return name;
}

const Field* FindField(const Fields& fields, std::string_view name) {
  auto found = std::ranges::find(fields, name, &Field::name);
  return found == fields.end() ? nullptr : &*found;
}

// The longest name first: a field called "a.b" wins over b in a.
bool Resolve(const Fields& fields, Parts parts, Trail* trail) {
  for (size_t count = parts.size(); count > 0; --count) {
    Parts taken = parts.first(count);
    bool joinable = count == 1 || std::ranges::none_of(taken, &ColumnName::Part::quoted);
    const Field* field = joinable ? FindField(fields, JoinParts(taken)) : nullptr;
    if (field == nullptr) continue;
    trail->push_back(field);
    if (count == parts.size()) return true;
    if (field->type.id == TypeId::kStruct &&
        Resolve(field->type.fields, parts.subspan(count), trail)) {
      return true;
    }
    trail->pop_back();
  }
  return false;
}

std::string Lowered(std::string_view name) {
  std::string lowered(name.substr(0, kComparedBytes));
  for (char& c : lowered) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return lowered;
}

// How many letters have to be changed, put in, left out or swapped with the next.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] =
          std::min({cost[i - 1][j - 1] + change, cost[i - 1][j] + 1, cost[i][j - 1] + 1});
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

// Close names first where there are any, else as they come.
std::string ListNames(const Fields& fields, const std::string& prefix,
                      std::string_view wanted) {
  std::string lowered = Lowered(wanted);
  std::vector<std::pair<size_t, std::string>> names;
  for (const Field& field : fields) {
    size_t distance = EditDistance(Lowered(field.name), lowered);
    bool close = distance <= 1 + lowered.size() / 3;
    names.emplace_back(close ? distance : kComparedBytes, prefix + field.name);
  }
  std::ranges::stable_sort(names, {}, [](const auto& name) { return name.first; });
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kListedMax); ++i) {
    text += (i == 0 ? "" : ", ") + names[i].second;
  }
  if (names.size() > kListedMax) {
    text += fmt::format(" and {} more", names.size() - kListedMax);
  }
  return text.empty() ? "no columns" : text;
}

// Follows the path as far as it goes, to say where it ends.
Status NotFound(const ColumnName& name, const iceberg::Schema& schema) {
  const Fields* fields = &schema.fields;
  std::string prefix;
  for (const auto& part : name.parts) {
    const Field* field = FindField(*fields, part.name);
    if (field == nullptr) {
      return Status::Invalid(fmt::format("there is no column '{}': {} has {}",
                                         prefix + part.name,
                                         prefix.empty() ? "the table" : "the struct",
                                         ListNames(*fields, prefix, part.name)));
    }
    if (field->type.id != TypeId::kStruct) {
      return Status::Invalid(fmt::format(
          "'{}' is {}, and only structs have columns inside that a filter can "
          "look at: filter by '{}' itself or by another column",
          prefix + part.name, field->type.ToString(), prefix + part.name));
    }
    prefix += part.name + ".";
    fields = &field->type.fields;
  }
  return Status::Internal("a column was found and not found: " + JoinParts(name.parts));
}

}  // namespace

Result<Trail> FindColumn(const ColumnName& name, const iceberg::Schema& schema) {
  Trail trail;
  if (!Resolve(schema.fields, name.parts, &trail)) return NotFound(name, schema);
  return trail;
}

}  // namespace forebay::table::filter
