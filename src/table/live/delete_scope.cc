#include "table/live/delete_scope.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/bytes.h"

namespace forebay::table::live {

std::string PartitionKey(const iceberg::DataFile& file) {
  Encoder out;
  out.Put<int32_t>(file.spec_id);
  for (const iceberg::Value& value : file.partition) {
    out.Put<uint8_t>(static_cast<uint8_t>(value.index()));
    if (auto* v = std::get_if<bool>(&value)) out.Put<uint8_t>(*v ? 1 : 0);
    if (auto* v = std::get_if<int64_t>(&value)) out.Put<int64_t>(*v);
    if (auto* v = std::get_if<double>(&value)) {
      out.Put<double>(std::isnan(*v) ? std::numeric_limits<double>::quiet_NaN() : *v);
    }
    if (auto* v = std::get_if<iceberg::Int128>(&value)) {
      out.Put<uint64_t>(static_cast<uint64_t>(*v));
      out.Put<int64_t>(static_cast<int64_t>(*v >> 64));
    }
    if (auto* v = std::get_if<std::string>(&value)) out.PutString(*v);
  }
  return out.Take();
}

bool IsUnpartitioned(const iceberg::PartitionSpec& spec) {
  return std::ranges::all_of(spec.fields, [](const iceberg::PartitionField& field) {
    return field.transform.kind == iceberg::TransformKind::kVoid;
  });
}

DataFiles::DataFiles(const iceberg::Scan& scan) : scan_(&scan) {
  // Nobody asks then, and there may be very many files.
  bool asked = !scan.position_deletes.empty() || !scan.deletion_vectors.empty() ||
               !scan.equality_deletes.empty();
  if (!asked) return;
  for (uint32_t i = 0; i < scan.data.size(); ++i) {
    const iceberg::DataFile& file = scan.data[i];
    auto path = by_path_.emplace(file.path, i).first;
    sorted_paths_.push_back(&path->first);
    auto [partition, added] =
        oldest_in_.emplace(PartitionKey(file), file.sequence_number);
    partition->second = std::min(partition->second, file.sequence_number);
    partition_keys_.push_back(&partition->first);
    oldest_ = std::min(oldest_, file.sequence_number);
  }
  if (scan.position_deletes.empty()) return;
  std::ranges::sort(sorted_paths_, {},
                    [](const std::string* s) -> const std::string& { return *s; });
}

int64_t DataFiles::Find(const std::string& path) const {
  auto found = by_path_.find(path);
  return found == by_path_.end() ? -1 : int64_t{found->second};
}

bool DataFiles::AnyOlder(const std::string& partition_key, int64_t below) const {
  auto found = oldest_in_.find(partition_key);
  return found != oldest_in_.end() && found->second < below;
}

bool DataFiles::AnyBetween(const std::string& lower, const std::string& upper) const {
  auto at = std::ranges::lower_bound(
      sorted_paths_, lower, {},
      [](const std::string* s) -> const std::string& { return *s; });
  return at != sorted_paths_.end() && **at <= upper;
}

}  // namespace forebay::table::live
