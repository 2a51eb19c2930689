// What a catalog says about the place of a table becomes options of sources.
#pragma once

#include <map>
#include <string>

#include "source/source.h"

namespace forebay::table::catalog {

using Properties = std::map<std::string, std::string>;

// Puts the properties that sources know over `options`, in PyIceberg's names; everything
// else a catalog may say (other clients' settings) is left out. Keys come as a set:
// vended ones leave nothing of the caller's behind.
void ApplyVended(const Properties& properties, source::Options* options);

// True where the catalog wants to sign every request itself and gives no keys.
bool WantsRemoteSigning(const Properties& properties);

}  // namespace forebay::table::catalog
