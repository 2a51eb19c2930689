// What the fuzzers found and started from, run again as plain tests.
#include <gtest/gtest.h>

#include "support/iceberg_fuzz.h"
#include "table/iceberg/corpus.h"

namespace forebay::table::iceberg {
namespace {

// Each kept file as it is, cut short, and with bytes changed.
void RunAll(const char* target, void (*fuzz)(std::string_view)) {
  std::filesystem::path folder =
      std::filesystem::path(FOREBAY_ROOT) / "tests/fuzz/corpus";
  size_t count = 0;
  for (const auto& path : FilesUnder(folder / target, "")) {
    SCOPED_TRACE(path.string());
    std::string bytes = Slurp(path);
    fuzz(bytes);
    size_t step = std::max<size_t>(1, bytes.size() / 120);
    for (size_t i = 0; i < bytes.size(); i += step) {
      fuzz(std::string_view(bytes).substr(0, i));
      char kept = bytes[i];
      for (char c :
           {'\0', '\xff', static_cast<char>(kept ^ 1), static_cast<char>(kept ^ 64)}) {
        bytes[i] = c;
        fuzz(bytes);
      }
      bytes[i] = kept;
    }
    ++count;
  }
  EXPECT_GE(count, 3U);
}

TEST(FuzzCorpus, MetadataEndsWithoutAFault) { RunAll("metadata", fuzz::FuzzMetadata); }
TEST(FuzzCorpus, ManifestsEndWithoutAFault) { RunAll("manifest", fuzz::FuzzManifest); }
TEST(FuzzCorpus, PuffinFilesEndWithoutAFault) { RunAll("puffin", fuzz::FuzzPuffin); }

}  // namespace
}  // namespace forebay::table::iceberg
