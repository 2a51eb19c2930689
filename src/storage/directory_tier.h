// Chunks as files in a directory that other processes, of this host or of others, may use
// at the same time (docs/formats/store.md):
//   FORMAT       the version of this layout
//   chunks/ab/   published chunks, by the first two digits of their key
//   tmp/         drafts
//   quarantine/  what was found in chunks/ and must not be served
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "storage/store_options.h"
#include "storage/tier.h"

namespace forebay::storage {

// On a disk that is, or may be, another machine's.
bool IsRemote(const model::TierSpec& spec);

class DirectoryTier : public Tier {
 public:
  static Result<std::unique_ptr<DirectoryTier>> Open(const TierOptions& options,
                                                     OpenMode mode);

  Result<Draft> NewDraft(uint64_t claimed_bytes) override;
  Result<std::shared_ptr<const UniqueFd>> Publish(Draft& draft, const ChunkName& name,
                                                  int64_t now_ns) override;
  bool settles_later() const override { return durable_ && !settles_first_; }
  Status Settle(const ChunkName& name, const UniqueFd& fd) override;
  Result<UniqueFd> Open(const ChunkName& name) const override;
  Status Unlink(const ChunkName& name) override;
  Status Quarantine(const ChunkName& name) override;
  int64_t LastUse(const ChunkName& name) const override;
  void RecordUse(const UniqueFd& fd, int64_t now_ns) const override;
  Result<TierScan> Scan() override;
  std::vector<ChunkName> Find(const Hash128& key) const override;
  SweepReport Sweep(int64_t now_ns) override;
  bool shared() const override { return true; }
  uint64_t free_bytes() const override;
  uint64_t free_floor_bytes() const override { return free_floor_bytes_; }
  uint64_t chunk_count_max() const override { return UINT64_MAX; }

 private:
  DirectoryTier(const TierOptions& options, OpenMode mode);

  Status Prepare();
  std::string BucketPath(const Hash128& key) const;
  std::string ChunkPath(const ChunkName& name) const;
  Result<UniqueFd> CreateTemp(const std::string& path);
  Status Rename(const std::string& temp_path, const ChunkName& name);
  void ScanBucket(std::string_view bucket, TierScan* scan);
  bool MoveToQuarantine(const std::string& path);
  uint64_t TrimQuarantine(uint64_t* removed);
  uint64_t ClaimedByOthers() const;
  bool IsDebris(const std::string& temp_name, int64_t now_ns) const;

  const TierOptions options_;
  const OpenMode mode_;
  const bool durable_;
  const uint64_t store_nonce_;
  uint64_t quarantine_bytes_max_;
  uint64_t free_floor_bytes_ = 0;
  // Another machine's disk may refuse at fsync what it took before: then the bytes must
  // go elsewhere, so that it is asked before the chunk has a name.
  bool settles_first_ = false;
  std::atomic<uint64_t> next_number_{0};
};

}  // namespace forebay::storage
