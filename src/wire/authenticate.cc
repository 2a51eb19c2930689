#include "wire/authenticate.h"

namespace forebay::wire {

Status Authenticate(const Call&) { return Status::OK(); }

}  // namespace forebay::wire
