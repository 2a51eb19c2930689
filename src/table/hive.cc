#include "table/hive.h"

#include <algorithm>
#include <charconv>

namespace forebay::table {
namespace {

constexpr std::string_view kNull = "__HIVE_DEFAULT_PARTITION__";

std::string PercentDecode(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    int value = 0;
    if (text[i] == '%' && i + 2 < text.size()) {
      const char* first = text.data() + i + 1;
      auto [end, error] = std::from_chars(first, first + 2, value, 16);
      if (error == std::errc() && end == first + 2) {
        out += static_cast<char>(value);
        i += 2;
        continue;
      }
    }
    out += text[i];
  }
  return out;
}

template <typename T>
bool Is(const std::optional<std::string>& value) {
  if (!value) return true;
  T number;
  const char* end = value->data() + value->size();
  auto [at, error] = std::from_chars(value->data(), end, number);
  return error == std::errc() && at == end;
}

std::string FormatOf(const std::vector<std::optional<std::string>>& values) {
  bool any = std::ranges::any_of(values, [](const auto& v) { return v.has_value(); });
  if (any && std::ranges::all_of(values, Is<int32_t>)) return "i";
  if (any && std::ranges::all_of(values, Is<int64_t>)) return "l";
  return "u";
}

constexpr std::string_view kRoot = "forebay.root";
// One entry per column, in order.
constexpr std::string_view kColumn = "forebay.partition";

}  // namespace

std::vector<PartitionValue> PartitionValues(std::string_view root, std::string_view uri) {
  std::vector<PartitionValue> out;
  if (!uri.starts_with(root)) return out;
  uri.remove_prefix(root.size());
  for (size_t slash = uri.find('/'); slash != uri.npos; slash = uri.find('/')) {
    std::string_view folder = uri.substr(0, slash);
    uri.remove_prefix(slash + 1);
    size_t equals = folder.find('=');
    if (equals == folder.npos || equals == 0) continue;
    std::string_view value = folder.substr(equals + 1);
    std::optional<std::string> decoded;
    if (value != kNull) decoded = PercentDecode(value);
    out.emplace_back(PercentDecode(folder.substr(0, equals)), std::move(decoded));
  }
  return out;
}

std::vector<PartitionColumn> FindPartitions(std::string_view root,
                                            const std::vector<model::Object>& objects) {
  std::vector<PartitionColumn> columns;
  for (size_t i = 0; i < objects.size(); ++i) {
    for (auto& [name, value] : PartitionValues(root, objects[i].uri)) {
      auto it = std::ranges::find(columns, name, &PartitionColumn::name);
      if (it == columns.end()) {
        columns.push_back({.name = name, .format = {}, .values = {}});
        it = columns.end() - 1;
        it->values.resize(objects.size());
      }
      it->values[i] = std::move(value);
    }
  }
  for (PartitionColumn& column : columns) column.format = FormatOf(column.values);
  return columns;
}

void PutPartitionKeys(const Listing& listing, model::Schema* schema) {
  if (listing.partitions.empty()) return;
  schema->metadata.emplace_back(kRoot, listing.root);
  for (const PartitionColumn& column : listing.partitions) {
    schema->metadata.emplace_back(kColumn, column.name);
  }
}

PartitionKeys::PartitionKeys(const model::Schema& schema) {
  for (const auto& [key, value] : schema.metadata) {
    if (key == kRoot) root_ = value;
    if (key == kColumn) names_.push_back(value);
  }
}

bool PartitionKeys::Has(std::string_view column) const {
  return std::ranges::find(names_, column) != names_.end();
}

std::optional<std::string> PartitionKeys::Value(std::string_view column,
                                                std::string_view uri) const {
  // The deepest folder wins, as when the columns were found.
  std::optional<std::string> found;
  for (auto& [name, value] : PartitionValues(root_, uri)) {
    if (name == column) found = std::move(value);
  }
  return found;
}

}  // namespace forebay::table
