// The sentences that all stores say alike.
#pragma once

#include <string>

#include "base/status.h"
#include "meta/meta_store.h"

namespace forebay::meta {

inline Status NoSuchKey(const std::string& key) {
  return Status::NotFound("the metadata store has no key " + key);
}
inline Status VersionChanged(const std::string& key) {
  return Status::Changed("somebody else changed " + key +
                         " in the metadata store meanwhile: read it and try again");
}
inline Status NoSuchLease(LeaseId lease) {
  return Status::NotFound("lease " + std::to_string(lease) + " has ended");
}

}  // namespace forebay::meta
