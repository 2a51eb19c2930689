// Statuses on their way through Flight: ours become Flight's on the server, so that any
// client can tell what to do, and ours again in a client of ours, code and sentence.
#pragma once

#include <arrow/status.h>

#include "base/status.h"

namespace forebay::flight {

arrow::Status ToFlight(const Status& status);
// Of a status that a call of a Flight client gave.
Status FromFlight(const arrow::Status& status);

}  // namespace forebay::flight
