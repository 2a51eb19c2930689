// Files that lie beside a table's data or are mistaken for it, by their names.
#pragma once

#include <string>
#include <string_view>

namespace forebay::table {

// True for files that describe data and hold none: README.md, LICENSE, checksums.
bool IsCompanion(std::string_view uri);

// Where the name tells what the file is (CSV, JSON, an image, an archive …): a sentence
// without its end that says so and what to do. Empty: the name tells nothing.
std::string WhyNotATable(std::string_view uri);

}  // namespace forebay::table
