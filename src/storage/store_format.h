// The FORMAT file of a store directory: its first file, and what tells a store from any
// other directory.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace forebay::storage {

constexpr uint32_t kStoreFormatVersion = 1;

// kNotFound: the directory is no store (yet). kUnsupported: of a newer Forebay.
Status CheckStoreFormat(const std::string& directory);

// Makes the directory a store if it is missing or empty. kInvalid when it holds other
// things. Safe when several processes do it at once.
Status MakeStoreFormat(const std::string& directory);

}  // namespace forebay::storage
