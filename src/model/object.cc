#include "model/object.h"

#include "base/bytes.h"

namespace forebay::model {

Hash128 Object::ContentHash(std::string_view origin) const {
  Encoder out;
  out.PutString(origin);
  out.PutString(uri);
  out.Put(identity.size);
  out.PutString(identity.etag);
  if (identity.etag.empty()) {
    out.Put(identity.mtime_ns);
    out.Put(identity.ctime_ns);
    out.Put(identity.inode);
  }
  return HashBytes(out.bytes());
}

}  // namespace forebay::model
