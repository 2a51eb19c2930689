#include "table/glob.h"

#include <gtest/gtest.h>

namespace forebay::table {
namespace {

TEST(Glob, MatchesAsAShellWould) {
  struct Case {
    const char* pattern;
    const char* path;
    bool matches;
  };
  for (const Case& c :
       std::initializer_list<Case>{{"*.parquet", "a.parquet", true},
                                   {"*.parquet", "b/a.parquet", false},
                                   {"*/*.parquet", "b/a.parquet", true},
                                   {"**/*.parquet", "a.parquet", true},
                                   {"**/*.parquet", "x/y/a.parquet", true},
                                   {"x/**/a", "x/a", true},
                                   {"x/**/a", "x/1/2/a", true},
                                   {"x/**", "x/1/2/a", true},
                                   {"part-?.pq", "part-1.pq", true},
                                   {"part-?.pq", "part-12.pq", false},
                                   {"part-[0-3].pq", "part-2.pq", true},
                                   {"part-[0-3].pq", "part-4.pq", false},
                                   {"part-[!0-3].pq", "part-4.pq", true},
                                   {"[]a].pq", "].pq", true},
                                   {"[[]x", "[x", true},
                                   {"a[b", "a[b", true},
                                   {"*", "_SUCCESS", false},
                                   {"*", ".hidden", false},
                                   {"_*", "_data", true},
                                   {"**/*.pq", "_tmp/a.pq", false},
                                   {"year=*", "year=2024/a.pq", true},
                                   {"year=*", "year=2024/_SUCCESS", false},
                                   {"*a*b*c", "xxaxxbxxc", true},
                                   {"*a*b*c", "xxaxxbxx", false},
                                   {"", "a", false}}) {
    EXPECT_EQ(MatchesGlob(c.pattern, c.path), c.matches) << c.pattern << " " << c.path;
  }
}

TEST(Glob, EndsSoonOnPatternsMadeToBacktrack) {
  std::string pattern, text(5000, 'a');
  for (int i = 0; i < 50; ++i) pattern += "*a";
  EXPECT_FALSE(MatchesGlob(pattern + "b", text));
}

TEST(Glob, BaseIsTheFolderBeforeTheFirstWildcard) {
  EXPECT_EQ(GlobBase("s3://b/x/y-*/z.pq"), "s3://b/x/");
  EXPECT_EQ(GlobBase("file:///*.pq"), "file:///");
}

}  // namespace
}  // namespace forebay::table
