#include "table/filter/parse.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>

// tests/fuzz/filter_fuzz.cc is part of this program.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace forebay::table::filter {
namespace {

struct Bad {
  std::string text;
  int column;
  std::string carets;  // what the caret line points at
  std::string message;
};

// The piece of the shown text above the carets.
std::string Pointed(const std::string& message) {
  std::istringstream lines(message);
  std::string first, shown, carets;
  std::getline(lines, first);
  std::getline(lines, shown);
  std::getline(lines, carets);
  size_t begin = carets.find('^');
  return begin == std::string::npos ? "?" : shown.substr(begin, carets.size() - begin);
}

TEST(Parse, ErrorsPointAtThePlace) {
  const Bad cases[] = {
      {"", 1, "", "the filter is empty"},
      {"   ", 4, "", "the filter is empty"},
      {"x >", 4, "", "expected a value here"},
      {"x > and y", 5, "and", "expected a value here"},
      {"x = null", 5, "null", "write 'is null'"},
      {"x in (1, NULL)", 10, "NULL", "write 'is null'"},
      {"x in ()", 7, ")", "expected a value"},
      {"x in 5", 6, "5", "expected a list in parentheses"},
      {"x in (1, 2", 11, "", "expected ',' or ')'"},
      {"x = 'abc", 5, "'", "never closed"},
      {"\"x = 1", 1, "\"", "this name is never closed"},
      {"x = 12abc", 5, "12abc", "not a number"},
      {"x = 1.2.3", 5, "1.2.3", "not a number"},
      {"x = X'0g'", 5, "X'0g'", "pairs of hex digits"},
      {"x ; y", 3, ";", "no meaning here"},
      {"(x = 1", 1, "(", "never closed"},
      {"x = 1)", 6, ")", "no '(' for this ')'"},
      {"x = 1 y = 2", 7, "y", "expected 'and', 'or'"},
      {"x is 5", 6, "5", "expected 'null' or 'nan'"},
      {"x not 5", 7, "5", "expected 'in', 'like' or 'between'"},
      {"x = y", 5, "y", "two columns can't be compared"},
      {"1 = 2", 5, "2", "expected a column"},
      {"1", 2, "", "expected a comparison with a column"},
      {"5 + x", 3, "+", "no meaning"},
      {"x like '%abc'", 8, "'%abc'", "only prefixes"},
      {"x like 'a_c%'", 8, "'a_c%'", "only prefixes"},
      {"x like 5", 8, "5", "expected a pattern"},
      {"x between 1 or 5", 13, "or", "between takes two values"},
      {"in = 5", 1, "in", "\"double quotes\""},
      {"a.and = 5", 3, "and", "\"double quotes\""},
      {"gr\xc3\xb6\xc3\x9f"
       "e = ?",
       9, "?", "no meaning"},
  };
  for (const Bad& bad : cases) {
    auto parsed = Filter::Parse(bad.text);
    ASSERT_FALSE(parsed.ok()) << bad.text;
    const std::string& message = parsed.status().message();
    EXPECT_EQ(parsed.status().code(), StatusCode::kInvalid);
    std::string start = "filter, column " + std::to_string(bad.column) + ": ";
    EXPECT_TRUE(message.starts_with(start)) << bad.text << "\n" << message;
    EXPECT_NE(message.find(bad.message), std::string::npos) << bad.text << "\n"
                                                            << message;
    bool ascii = bad.text.find('\xc3') == std::string::npos;
    if (ascii) {
      EXPECT_EQ(Pointed(message), bad.carets) << message;
    }
  }
}

TEST(Parse, ShowsOnlyThePartOfALongTextAroundThePlace) {
  const std::string blanks(3000, ' ');
  std::string text = blanks;
  text += "x > > 5";
  text += blanks;
  auto parsed = Filter::Parse(text);
  ASSERT_FALSE(parsed.ok());
  EXPECT_LT(parsed.status().message().size(), 300u);
  EXPECT_TRUE(parsed.status().message().starts_with("filter, column 3005: "));
}

TEST(Parse, NestsUpToALimit) {
  auto nested = [](int depth) {
    return std::string(static_cast<size_t>(depth), '(') + "x = 1" +
           std::string(static_cast<size_t>(depth), ')');
  };
  EXPECT_TRUE(Filter::Parse(nested(200)).ok());
  auto deeper = Filter::Parse(nested(201));
  ASSERT_FALSE(deeper.ok());
  EXPECT_NE(deeper.status().message().find("deeper than 200"), std::string::npos);
  std::string negations;
  for (int i = 0; i < 10'000; ++i) negations += "not ";
  EXPECT_FALSE(Filter::Parse(negations + "x = 1").ok());
}

TEST(Parse, TakesTextsUpToALimit) {
  std::string text = "x in (0";
  while (text.size() + 3 < Filter::kTextBytesMax) text += ",1";
  EXPECT_TRUE(Filter::Parse(text + ")").ok());
  std::string longer = text + ")" + std::string(10, ' ');
  EXPECT_FALSE(Filter::Parse(longer).ok());
}

TEST(Parse, RefusesWhatIsNotUtf8) {
  for (const char* text :
       {"x = '\xff'", "x = '\xc0\xaf'", "x = '\xed\xa0\x80'", "\xc3"}) {
    EXPECT_FALSE(Filter::Parse(text).ok()) << text;
  }
}

TEST(Parse, KeywordsComeInAnyCase) {
  auto parsed = Filter::Parse("x IS Not nULL AnD nOT y bEtWeEn 1 AND 2");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->root.kind, Expression::Kind::kAnd);
  EXPECT_EQ(parsed->root.children[0].op, Operator::kIsNotNull);
  EXPECT_EQ(parsed->root.children[1].kind, Expression::Kind::kNot);
}

TEST(Parse, AndBindsTighterThanOrAndNotTighterThanAnd) {
  auto parsed = Filter::Parse("not a = 1 and b = 2 or c = 3");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->root.kind, Expression::Kind::kOr);
  ASSERT_EQ(parsed->root.children[0].kind, Expression::Kind::kAnd);
  EXPECT_EQ(parsed->root.children[0].children[0].kind, Expression::Kind::kNot);
}

TEST(Parse, TakesNamesApartAtDotsOutsideOfQuotes) {
  auto parsed = Filter::Parse("a.\"b.c\".`d``e` = 1");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const auto& parts = parsed->root.column.parts;
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].name, "a");
  EXPECT_EQ(parts[1].name, "b.c");
  EXPECT_EQ(parts[2].name, "d`e");
}

TEST(Parse, PatternsMayEscapeTheirWildcards) {
  auto parsed = Filter::Parse(R"(x like '50\% \_\\%')");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->root.op, Operator::kStartsWith);
  EXPECT_EQ(parsed->root.literals[0].text, R"(50% _\)");
  auto whole = Filter::Parse("x like 'abc'");
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(whole->root.op, Operator::kEqual);
}

std::vector<std::string> Corpus() {
  std::vector<std::string> texts;
  std::filesystem::path folder = FOREBAY_ROOT "/tests/fuzz/corpus/filter";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(file),
                       std::istreambuf_iterator<char>());
  }
  return texts;
}

void Fuzz(const std::string& text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

TEST(Parse, SurvivesTheFuzzingCorpusAndWhatBecomesOfIt) {
  std::vector<std::string> texts = Corpus();
  ASSERT_GT(texts.size(), 20u);
  std::mt19937_64 random(7);
  for (const std::string& text : texts) Fuzz(text);
  for (int i = 0; i < 30'000; ++i) {
    std::string text = texts[random() % texts.size()];
    const std::string& other = texts[random() % texts.size()];
    switch (random() % 4) {
      case 0: text.resize(random() % (text.size() + 1)); break;
      case 1: text[random() % text.size()] = static_cast<char>(random()); break;
      case 2:
        text.insert(random() % text.size(), other.substr(random() % other.size()));
        break;
      default: text.erase(random() % text.size(), random() % 5); break;
    }
    Fuzz(text);
  }
}

}  // namespace
}  // namespace forebay::table::filter
