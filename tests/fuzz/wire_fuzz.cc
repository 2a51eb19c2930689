// libFuzzer's entry for messages of the reader protocol; see tools/fuzz.
#include "support/wire_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  forebay::fuzz::FuzzWire({reinterpret_cast<const char*>(data), size});
  return 0;
}
