// Whether all rows of a table can be in a store at once, as far as that is known before
// they are.
#pragma once

#include <cstdint>

#include "model/chunk.h"
#include "model/manifest.h"

namespace forebay::reader {

// What the rows of some columns take in a store, at least: text and lists count with
// their offsets alone, and nulls not at all.
uint64_t StoredBytesMin(const model::Manifest& manifest,
                        const model::Projection& columns);

}  // namespace forebay::reader
