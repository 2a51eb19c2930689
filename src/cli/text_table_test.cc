#include "cli/text_table.h"

#include <gtest/gtest.h>

namespace forebay::cli {
namespace {

TEST(TextTable, AlignsColumnsAndLeavesNoTrailingBlanks) {
  TextTable table({{"NAME"}, {"SIZE", Align::kRight}, {"NOTE"}});
  table.Add({"a", "1", ""});
  table.Add({"longer", "1024", "yes"});
  EXPECT_EQ(table.ToString(),
            "NAME    SIZE  NOTE\n"
            "a          1\n"
            "longer  1024  yes\n");
}

TEST(TextTable, CountsCharactersNotBytes) {
  TextTable table({{"K"}, {"V"}});
  table.Add({"größe", "1"});
  table.Add({"x", "2"});
  EXPECT_EQ(table.ToString(), "K      V\ngröße  1\nx      2\n");
}

TEST(TextTable, KeepsNamesFromSteeringTheTerminal) {
  TextTable table({{"K"}});
  table.Add({"a\x1b[2Jb\nc"});
  EXPECT_EQ(table.ToString(), "K\na?[2Jb?c\n");
  EXPECT_EQ(FactList({{"uri", "a\rb"}}), "uri  a?b\n");
}

TEST(TextTable, WithoutRowsIsItsTitles) {
  EXPECT_EQ(TextTable({{"A"}, {"B"}}).ToString(), "A  B\n");
}

TEST(FactList, AlignsValues) {
  EXPECT_EQ(FactList({{"a", "1"}, {"long", "2"}}), "a     1\nlong  2\n");
}

}  // namespace
}  // namespace forebay::cli
