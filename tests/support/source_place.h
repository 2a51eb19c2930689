// Places that tests can write to and a Source can read from: one per kind of source.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "source/source.h"
#include "support/servers.h"

namespace forebay::testing_support {

enum class PlaceKind {
  kFile,
  kMemory,
  kHttp,
  kHttpProxied,
  kS3,
  kS3Proxied,
  kHdfs,
  kHdfsProxied,
  kArrow
};
inline constexpr PlaceKind kPlaceKinds[] = {
    PlaceKind::kFile,        PlaceKind::kMemory,      PlaceKind::kHttp,
    PlaceKind::kHttpProxied, PlaceKind::kS3,          PlaceKind::kS3Proxied,
    PlaceKind::kHdfs,        PlaceKind::kHdfsProxied, PlaceKind::kArrow};
std::string PlaceName(PlaceKind kind);

class TestPlace {
 public:
  virtual ~TestPlace() = default;
  virtual source::Source& source() = 0;
  // The URI of the object that Put calls `name`.
  virtual std::string Uri(const std::string& name) = 0;
  // Makes or overwrites. Two Puts of one name give two identities.
  virtual void Put(const std::string& name, std::string_view bytes) = 0;
  virtual void Remove(const std::string& name) = 0;
  // A shell command that does the same as Put.
  virtual std::string PutCommand(const std::string&, std::string_view) { return {}; }
  // Whether folders can be listed.
  virtual bool lists() const { return true; }
  // What faults are injected with; null where there is no HTTP.
  virtual FaultProxy* proxy() { return nullptr; }
};

// kNotFound when the server's program is not installed. Servers are started once per
// process; every place has a folder of its own on them.
Result<std::unique_ptr<TestPlace>> MakePlace(PlaceKind kind);

}  // namespace forebay::testing_support
