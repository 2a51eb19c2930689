#include "reader/environment/plain_yaml.h"

#include <gtest/gtest.h>

namespace forebay::reader {
namespace {

// "a/b=text" for each entry, one a line.
std::string Entries(const std::string& yaml) {
  auto entries = ParsePlainYaml(yaml);
  if (!entries.ok()) return entries.status().message();
  std::string out;
  for (const YamlEntry& entry : *entries) {
    for (size_t i = 0; i < entry.path.size(); ++i) out += (i ? "/" : "") + entry.path[i];
    out += "=" + entry.text + "\n";
  }
  return out;
}

TEST(PlainYaml, ReadsWhatPyIcebergsUsersWrite) {
  EXPECT_EQ(Entries("---\n"
                    "# mine\n"
                    "default-catalog: prod   # the usual one\n"
                    "catalog:\n"
                    "  prod:\n"
                    "    uri: http://127.0.0.1:8181/\r\n"
                    "    s3.endpoint:   http://h:9000#x\n"
                    "\n"
                    "    py-io-impl: pyiceberg.io.pyarrow.PyArrowFileIO\n"
                    "    ssl:\n"
                    "      cabundle: '/etc/it''s.pem'\n"
                    "  'other one':\n"
                    "    token: \"a\\\"b\\u00fc: #c\"  # no comment\n"
                    "    empty:\n"
                    "max-workers: 4\n"),
            "default-catalog=prod\n"
            "catalog/prod/uri=http://127.0.0.1:8181/\n"
            "catalog/prod/s3.endpoint=http://h:9000#x\n"
            "catalog/prod/py-io-impl=pyiceberg.io.pyarrow.PyArrowFileIO\n"
            "catalog/prod/ssl/cabundle=/etc/it's.pem\n"
            "catalog/other one/token=a\"bü: #c\n"
            "max-workers=4\n");
}

TEST(PlainYaml, ReadsBlockTextsAndPassesOverLists) {
  EXPECT_EQ(
      Entries("a: |\n  one\n  two\n\nb: >-\n  one\n  two\nlist:\n  - x: 1\n    y: 2\n"
              "  -\n    z\nc: d"),
      "a=one\ntwo\nb=one two\nc=d\n");
  EXPECT_EQ(Entries(""), "");
  EXPECT_EQ(Entries("\xef\xbb\xbf# nothing"), "");
}

TEST(PlainYaml, NamesTheLineThatIsWrong) {
  auto wrong_at = [](const std::string& yaml, const std::string& line) {
    auto entries = ParsePlainYaml(yaml);
    EXPECT_EQ(entries.status().code(), StatusCode::kInvalid) << yaml;
    EXPECT_EQ(entries.status().message().substr(0, line.size()), line) << yaml;
  };
  wrong_at("a: 1\nwhat is this", "line 2: ");
  wrong_at("a:\n\tb: 1", "line 2: ");
  wrong_at("a: {b: 1}", "line 1: ");
  wrong_at("a: *b", "line 1: ");
  wrong_at("a: 'b", "line 1: ");
  wrong_at("a: \"b\\q\"", "line 1: ");
  wrong_at("a: 1\nb: 2\na: 3", "line 3: ");
  wrong_at("a: 1\n  b: 2", "line 2: ");
  wrong_at(": 1", "line 1: ");
}

}  // namespace
}  // namespace forebay::reader
