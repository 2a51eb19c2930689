// Which files a failure is about, where it could be one of several.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "model/object.h"
#include "source/source.h"

namespace forebay::cache {

// "uri: why" of each object that cannot be read now. Where all can, or time is up, it is
// the failure itself, of the object that it names, or else of the first.
std::vector<std::string> FailedObjects(source::Source& source,
                                       const std::vector<model::Object>& objects,
                                       const Status& failure, Deadline deadline);

}  // namespace forebay::cache
