// Opens a node's socket to a group of users besides its own.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/status.h"

namespace forebay::node {

// Of a name or a number; kNotFound when there is none of that name.
Result<gid_t> GroupOf(const std::string& text);
// Whoever is in the group may connect (mode 0660). The file system decides who that is.
Status OpenSocketTo(gid_t group, const std::string& socket_path);

}  // namespace forebay::node
