#include "cli/text_table.h"

#include <algorithm>

#include "cli/output.h"

namespace forebay::cli {
namespace {

constexpr size_t kGap = 2;

// Code points: every byte but UTF-8's continuation bytes.
size_t Width(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

void TextTable::Add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = Printable(cell);
  rows_.push_back(std::move(cells));
}

std::string TextTable::ToString() const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    widths.push_back(Width(columns_[i].title));
    for (const auto& row : rows_) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string out;
  auto add_line = [&](auto&& cell_at) {
    std::string line;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string& cell = cell_at(i);
      std::string padding(widths[i] - Width(cell), ' ');
      line += columns_[i].align == Align::kRight ? padding + cell : cell + padding;
      line.append(kGap, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  add_line([&](size_t i) -> const std::string& { return columns_[i].title; });
  for (const auto& row : rows_) {
    add_line([&](size_t i) -> const std::string& { return row[i]; });
  }
  return out;
}

std::string FactList(const std::vector<std::pair<std::string, std::string>>& facts) {
  size_t width = 0;
  for (const auto& [name, value] : facts) width = std::max(width, Width(name));
  std::string out;
  for (const auto& [name, value] : facts) {
    out += name + std::string(width - Width(name) + kGap, ' ') + Printable(value) + "\n";
  }
  return out;
}

}  // namespace forebay::cli
