// libFuzzer's entry for metadata files; see tools/fuzz.
#include "support/iceberg_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  forebay::fuzz::FuzzMetadata({reinterpret_cast<const char*>(data), size});
  return 0;
}
