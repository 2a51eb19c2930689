// Aligned columns of text for people.
#pragma once

#include <string>
#include <vector>

namespace forebay::cli {

enum class Align { kLeft, kRight };

class TextTable {
 public:
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // As many cells as there are columns. Control characters are replaced.
  void Add(std::vector<std::string> cells);
  // Titles, then the rows; two blanks between columns, none at the end of a line.
  std::string ToString() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// "name  value" lines with the values aligned.
std::string FactList(const std::vector<std::pair<std::string, std::string>>& facts);

}  // namespace forebay::cli
