// What came of a warm-up, and whether that is a success.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/exit_code.h"
#include "wire/message.h"

namespace forebay::cli {

struct WarmupOutcome {
  std::string uri;
  wire::WarmupState state;
  wire::Coverage coverage;  // asked for after the warm-up ended
  milliseconds elapsed{0};
};

struct WarmupVerdict {
  ExitCode code = ExitCode::kOk;
  std::vector<std::string> messages;  // for stderr, in order
};

// A success only if every row was loaded and every chunk is still there.
WarmupVerdict Judge(const WarmupOutcome& outcome);
nlohmann::ordered_json WarmupJson(const WarmupOutcome& outcome);
std::string WarmupText(const WarmupOutcome& outcome);

}  // namespace forebay::cli
