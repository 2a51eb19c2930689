// libFuzzer's entry for requests to the HTTP server; see tools/fuzz.
#include "support/http_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  forebay::fuzz::FuzzRequest({reinterpret_cast<const char*>(data), size});
  return 0;
}
