// Which format a file has, by its name or by its first bytes.
#pragma once

#include <optional>
#include <string_view>

#include "model/manifest.h"

namespace forebay::table {

constexpr size_t kMagicBytes = 8;

std::optional<model::FileFormat> FormatByName(std::string_view uri);
std::optional<model::FileFormat> FormatByMagic(std::string_view first_bytes);
std::string_view FormatName(model::FileFormat format);

}  // namespace forebay::table
