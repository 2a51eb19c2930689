// A place that keeps chunks: a directory or memory. A tier does the file work and decides
// nothing; index, quota and eviction are the store's. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "storage/chunk_name.h"
#include "storage/store_options.h"

namespace forebay::storage {

// Bytes on their way to become a chunk. Removes its temp file unless it was published.
class Draft {
 public:
  struct Options {
    UniqueFd fd;            // readable and writable
    std::string temp_path;  // empty: nothing to unlink
    bool early_write_out = false;
  };
  explicit Draft(Options options) : options_(std::move(options)) {}
  ~Draft() { Discard(); }
  Draft(Draft&& other) noexcept;
  Draft& operator=(Draft&& other) noexcept;

  // Memory for `size` bytes in huge pages, before the first Append; advice only. The file
  // is then longer than what was appended until CutToSize.
  void PrepareMemory(uint64_t size);
  Status CutToSize();

  // By write(2), never through a mapping: a full file system is kFull, not a SIGBUS.
  Status Append(const void* data, size_t size);

  int fd() const { return options_.fd.get(); }
  UniqueFd TakeFd() { return std::move(options_.fd); }
  const std::string& temp_path() const { return options_.temp_path; }
  uint64_t size() const { return size_; }
  void MarkPublished() { options_.temp_path.clear(); }

 private:
  void Discard();

  Options options_;
  uint64_t size_ = 0;
  uint64_t prepared_bytes_ = 0;
  uint64_t written_out_ = 0;
};

struct TierScan {
  std::vector<ChunkName> chunks;
  uint64_t claimed_bytes = 0;  // drafts of other processes
  uint64_t quarantine_bytes = 0;
  uint64_t quarantined = 0;  // foreign files moved aside by this scan
};

class Tier {
 public:
  virtual ~Tier() = default;

  // Claims room, visible to other processes on the same directory, and writes nothing.
  virtual Result<Draft> NewDraft(uint64_t claimed_bytes) = 0;
  // Makes the draft the chunk of that name, last used at `now_ns`. After a failure the
  // draft can still be read.
  virtual Result<std::shared_ptr<const UniqueFd>> Publish(Draft& draft,
                                                          const ChunkName& name,
                                                          int64_t now_ns) = 0;
  // Where Publish leaves it to later: makes the chunk outlast a power cut.
  virtual bool settles_later() const { return false; }
  virtual Status Settle(const ChunkName&, const UniqueFd&) { return Status::OK(); }
  virtual Result<UniqueFd> Open(const ChunkName& name) const = 0;
  // Gone already is fine. Whoever has the chunk open or mapped keeps it.
  virtual Status Unlink(const ChunkName& name) = 0;
  virtual Status Quarantine(const ChunkName& name) = 0;

  // When any process last used the chunk; 0 when it is not there.
  virtual int64_t LastUse(const ChunkName& name) const = 0;
  virtual void RecordUse(const UniqueFd& fd, int64_t now_ns) const = 0;

  virtual Result<TierScan> Scan() = 0;
  virtual std::vector<ChunkName> Find(const Hash128& key) const = 0;
  virtual SweepReport Sweep(int64_t now_ns) = 0;

  // True when other processes may publish and evict here.
  virtual bool shared() const = 0;
  virtual uint64_t free_bytes() const = 0;
  virtual uint64_t free_floor_bytes() const = 0;
  virtual uint64_t chunk_count_max() const = 0;
};

}  // namespace forebay::storage
