// Verbs that are other programs: this process becomes one of them.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace forebay::cli {

// The path of a program that lies beside this one. `variable`, where it is set in the
// environment, says otherwise.
Result<std::string> FindBeside(const std::string& program, const char* variable);

// Comes back only with an error.
Status Become(const std::vector<std::string>& command);

}  // namespace forebay::cli
