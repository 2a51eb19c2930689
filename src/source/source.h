// Where bytes come from: one interface over local files, S3, HTTP, HDFS and the stores
// that Arrow reaches. Thread-safe. Every call ends by its deadline.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "model/object.h"

namespace forebay::source {

// "s3.endpoint", "s3.access-key-id", "s3.region", … (PyIceberg's names; docs/sources.md).
using Options = std::map<std::string, std::string>;

// What was asked of the source so far. Counted where bytes arrive, retries included.
struct Stats {
  std::atomic<uint64_t> requests{0};
  std::atomic<uint64_t> bytes{0};
  std::atomic<uint64_t> retries{0};
};

// A part of what is below a folder.
struct PageRequest {
  std::string folder{};    // a URI that ends with '/'
  bool one_level = false;  // objects right in it, and its folders, instead of all below
  std::string start_after{};  // a URI; only what comes after it
  std::string next{};         // of the page before, with all else the same
};
struct Page {
  std::vector<model::Object> objects;  // ascending by uri
  std::vector<std::string> folders;    // URIs that end with '/'; only of one level
  std::string next;                    // empty: the last page
};

// A name that leads to another one: text, which nobody has followed.
struct Link {
  std::string uri;
  std::string target;
  int64_t mtime_ns = 0;
};
// All that is below a folder, each sorted by uri.
struct Tree {
  std::vector<model::Object> objects;
  std::vector<Link> links;
  std::vector<std::string> empty_folders;  // URIs without '/' at their end
};

// A part of an object.
struct Slice {
  int64_t offset = 0;
  int64_t size = 0;
};
// Takes the bytes of a slice as they arrive, in their order; `at` counts from its begin.
// Where an answer proved wrong it is asked for again, and `at` goes back. A failure ends
// the read, which returns it.
using Sink = std::function<Status(int64_t at, std::span<const std::byte> piece)>;

// Into memory that has room for the slice.
Sink CopyInto(std::span<std::byte> into);

class Source {
 public:
  virtual ~Source() = default;

  // All objects at or below `uri` (a folder or prefix), sorted by uri. A folder that is
  // not there, or a prefix without objects, is kNotFound.
  virtual Result<std::vector<model::Object>> List(const std::string& uri,
                                                  Deadline deadline) = 0;

  // The same as a tree: links as they are, where the source has such things and List
  // would follow them, and folders with nothing in them.
  virtual Result<Tree> ListTree(const std::string& uri, Deadline deadline) {
    FB_ASSIGN_OR_RETURN(auto objects, List(uri, deadline));
    return Tree{.objects = std::move(objects), .links = {}, .empty_folders = {}};
  }

  // One object and its identity. A folder is kNotFound here.
  virtual Result<model::Object> Stat(const std::string& uri, Deadline deadline) = 0;

  // Fills `into` with the object's bytes from `offset`, all or nothing. When the object
  // is no longer the one of `object.identity`: kChanged, and `into` must not be used.
  virtual Status Read(const model::Object& object, int64_t offset,
                      std::span<std::byte> into, Deadline deadline) = 0;

  // The same piece by piece: only where `streams` says so. What was taken may be used
  // once this has returned without a failure.
  virtual bool streams() const { return false; }
  virtual Status Stream(const model::Object&, Slice, const Sink&, Deadline) {
    return Status::Unsupported("this source does not stream");
  }

  // Lists in pages, many of which may be asked for at once: only where `pages` says so.
  virtual bool pages() const { return false; }
  virtual Result<Page> ListPage(const PageRequest&, Deadline) {
    return Status::Unsupported("this source does not list in pages");
  }

  // Tells apart places that use the same URIs: the S3 endpoint. Empty for the usual one.
  virtual std::string origin() const { return {}; }
  // How many reads at once make sense.
  virtual int parallelism() const { return 8; }

  Stats& stats() { return stats_; }

 private:
  Stats stats_;
};

// The source for a URI's scheme. The table of schemes is in source.cc.
Result<std::shared_ptr<Source>> OpenSource(const std::string& uri,
                                           const Options& options);

}  // namespace forebay::source
