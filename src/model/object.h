// A source object and what makes it that object and no other.
#pragma once

#include <cstdint>
#include <string>

#include "base/hash.h"

namespace forebay::model {

// With an etag, the etag decides; without one (local files, HDFS) the rest does.
struct ObjectIdentity {
  int64_t size = 0;
  std::string etag;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  uint64_t inode = 0;

  friend bool operator==(const ObjectIdentity& a, const ObjectIdentity& b) {
    if (a.size != b.size || a.etag != b.etag) return false;
    if (!a.etag.empty()) return true;
    return a.mtime_ns == b.mtime_ns && a.ctime_ns == b.ctime_ns && a.inode == b.inode;
  }
};

struct Object {
  std::string uri;  // canonical and absolute: file:///data/x, s3://bucket/key
  ObjectIdentity identity;

  // Of uri and identity. `origin` tells apart endpoints that use the same URIs.
  Hash128 ContentHash(std::string_view origin) const;
};

}  // namespace forebay::model
