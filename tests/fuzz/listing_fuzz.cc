// libFuzzer's entry for listings of S3 and HDFS, and ranges of answers; see tools/fuzz.
#include "support/listing_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  forebay::fuzz::FuzzListing({reinterpret_cast<const char*>(data), size});
  return 0;
}
