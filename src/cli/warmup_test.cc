#include "cli/warmup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace forebay::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

WarmupOutcome Loaded() {
  return {.uri = "file:///data/t",
          .state = {.rows_done = 1000,
                    .row_count = 1000,
                    .chunks_done = 10,
                    .chunk_count = 10,
                    .bytes_stored = 3 << 20,
                    .bytes_fetched = 1 << 20,
                    .done = true,
                    .failures = {}},
          .coverage = {.chunk_count = 10, .chunks_stored = 10, .rows_stored = 1000},
          .elapsed = milliseconds(1500)};
}

TEST(Warmup, IsASuccessWhenEverythingIsThere) {
  WarmupVerdict verdict = Judge(Loaded());
  EXPECT_EQ(verdict.code, ExitCode::kOk);
  EXPECT_THAT(verdict.messages, IsEmpty());
}

TEST(Warmup, NamesFilesThatCouldNotBeLoaded) {
  WarmupOutcome outcome = Loaded();
  outcome.state.rows_done = 900;
  outcome.state.chunks_done = 9;
  outcome.state.failures = {"file:///data/t/b.parquet: page checksum mismatch"};
  WarmupVerdict verdict = Judge(outcome);
  EXPECT_EQ(verdict.code, ExitCode::kPartial);
  EXPECT_THAT(verdict.messages,
              ElementsAre("could not load file:///data/t/b.parquet: page checksum "
                          "mismatch",
                          "only 900 of 1000 rows were loaded; run warmup again once the "
                          "cause is gone"));
}

TEST(Warmup, IsNoSuccessWhenRowsAreMissingWithoutAReason) {
  WarmupOutcome outcome = Loaded();
  outcome.state.rows_done = 999;
  EXPECT_EQ(Judge(outcome).code, ExitCode::kPartial);
}

TEST(Warmup, SaysWhenTheStoreIsTooSmall) {
  WarmupOutcome outcome = Loaded();
  outcome.coverage.chunks_stored = 4;
  WarmupVerdict verdict = Judge(outcome);
  EXPECT_EQ(verdict.code, ExitCode::kFull);
  EXPECT_THAT(verdict.messages,
              ElementsAre("the store is smaller than the table: 6 of 10 chunks left it "
                          "again while it was loaded; give --store at least 3.0 MiB, or "
                          "name fewer --columns"));
}

TEST(Warmup, PrintsExactCounts) {
  WarmupOutcome outcome = Loaded();
  outcome.coverage.chunks_stored = 9;
  EXPECT_EQ(WarmupText(outcome),
            "uri      file:///data/t\n"
            "rows     1000 of 1000\n"
            "chunks   10 of 10\n"
            "evicted  1 chunks\n"
            "cached   3.0 MiB\n"
            "fetched  1.0 MiB\n"
            "time     1.5 s\n");
  EXPECT_EQ(WarmupJson(outcome).dump(),
            R"({"uri":"file:///data/t","rows":1000,"row_count":1000,"chunks":10,)"
            R"("chunk_count":10,"evicted_chunks":1,"chunk_bytes":3145728,)"
            R"("fetched_bytes":1048576,"seconds":1.5,"failures":[]})");
}

}  // namespace
}  // namespace forebay::cli
