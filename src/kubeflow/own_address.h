// By which of its addresses others reach this machine.
#pragma once

#include <string>

#include "base/status.h"

namespace forebay::kubeflow {

// The one it would send from to that host; kUnavailable while the name is not known.
Result<std::string> OwnAddressTowards(const std::string& host);
// "10.0.0.7:50051", "[fd00::7]:50051".
std::string WithPort(const std::string& address, int port);

}  // namespace forebay::kubeflow
