// What every source says about identities in the same words, and the wait that makes
// identities of fresh files safe to reuse.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "model/object.h"

namespace forebay::source {

model::ObjectIdentity FileIdentity(const struct stat& st);

// Entity tags as HTTP and S3 spell them: "\"abc\"" and "abc" → "abc". Weak tags (W/"abc")
// do not promise equal bytes: "".
std::string StrongEtag(std::string_view header);
// "abc" → "\"abc\"", for If-Match.
std::string QuoteEtag(std::string_view etag);

// kChanged: "source changed: <uri> …". The URI is redacted.
Status ChangedStatus(const model::Object& object);
// kDeadline: "time was up <doing>".
Status DeadlineStatus(std::string_view doing);
// kInvalid unless [offset, offset + size) lies inside the object.
Status CheckRange(const model::Object& object, int64_t offset, size_t size);

// Two writes within one tick of a file system's clock leave the same mtime. So objects
// without an etag are used only once their last change is 2 s old; this sleeps until
// then. Reads made after it see every write that an identity taken before it cannot show.
// HttpSource does the same by the server's clock, so that objects of the web are settled.
Status WaitUntilSettled(const std::vector<model::Object>& objects, const Clock& clock,
                        Deadline deadline);

}  // namespace forebay::source
