#include "support/fuzz_corpus.h"

#include "support/http_fuzz.h"

namespace forebay::http {
namespace {

TEST(FuzzCorpus, RequestsEndWithoutAFault) {
  fuzz::RunCorpus("request", fuzz::FuzzRequest);
}
TEST(FuzzCorpus, AnswersEndWithoutAFault) { fuzz::RunCorpus("answer", fuzz::FuzzAnswer); }

}  // namespace
}  // namespace forebay::http
