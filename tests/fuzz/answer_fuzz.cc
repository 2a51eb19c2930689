// libFuzzer's entry for answers that the plain HTTP client gets; see tools/fuzz.
#include "support/http_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  forebay::fuzz::FuzzAnswer({reinterpret_cast<const char*>(data), size});
  return 0;
}
