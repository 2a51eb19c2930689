// A directory that many hosts use at once to keep whole files, with no server of ours
// between them (docs/formats/shared-directory.md). Right with no working lock: what is
// published has its name in one step and is verified by whoever uses it; a lock only
// saves downloads. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "storage/shared/shared_entry.h"
#include "storage/shared/shared_files.h"
#include "storage/shared/verified_files.h"

namespace forebay::storage {

class SharedDirectory {
 public:
  struct Options {
    std::string path;
    bool create = true;
    // Where this host remembers what it has verified; empty: nowhere, and every use reads
    // the whole file.
    std::string memory{};
    // Of the file system; tests say what there is.
    std::function<Result<SharedRoom>(const std::string& path)> room = RoomOf;
  };
  // A folder that holds something else is kInvalid.
  static Result<std::unique_ptr<SharedDirectory>> Open(Options options);
  static bool IsOne(const std::string& path);

  // The verified file of a source object; kNotFound when it is not here. One that does
  // not verify is put aside and not found.
  Result<SharedEntry> Find(const Hash128& key);

  struct Content {
    Hash128 key;
    std::string file_name;
    std::string dataset;
    uint64_t size = 0;
    std::function<Status(int fd)> write;  // appends the bytes
  };
  // Finds the file, or brings it: of hosts that ask at once one calls `write` where locks
  // work, and all end with one entry. Makes room before when a twentieth of the file
  // system would not be left free.
  Result<SharedEntry> Bring(const Content& content, Deadline deadline);
  // Counts a use. A directory that cannot be written is used all the same.
  void NoteUse(const SharedEntry& entry);
  Status Pin(const SharedEntry& entry, bool pinned);

  Result<std::vector<SharedEntry>> List();
  // Whether there is an entry of each; none is verified.
  bool HasAll(std::vector<Hash128> keys);

  // What a source listed when hosts asked it last for `asked`, with all files in place.
  struct SeenListing {
    std::string bytes;
    int64_t seen_ns = 0;
  };
  Result<SeenListing> FindListing(const Hash128& asked);
  Status KeepListing(const Hash128& asked, std::string_view bytes);

  struct CollectOptions {
    uint64_t keep_free_bytes = 0;
    milliseconds lately{600'000};    // what was used since then stays
    milliseconds grace{600'000};     // in the trash: others may still be reading
    milliseconds debris{3'600'000};  // temp files older than this have no writer
    milliseconds listings = std::chrono::hours(24 * 90);  // that nobody saw since then
  };
  struct Collected {
    uint64_t files = 0;  // to the trash
    uint64_t bytes = 0;
    uint64_t trash_removed = 0;  // from it, for good
    uint64_t temp_removed = 0;
    uint64_t free_bytes = 0;  // once the trash is empty
  };
  // Makes room, least recent use first.
  Result<Collected> Collect(const CollectOptions& options);
  Result<SharedRoom> Room() const { return options_.room(options_.path); }

 private:
  explicit SharedDirectory(Options options)
      : options_(std::move(options)), verified_({.folder = options_.memory}) {}
  Status Prepare();
  Status RefuseOthers();
  Result<SharedEntry> FindOnce(const Hash128& key);
  std::string Folder(const char* name) const { return options_.path + "/" + name; }
  std::string BucketOf(const Hash128& key) const;
  std::string ListingOf(const Hash128& asked) const;
  Status Verify(const SharedEntry& entry);
  Result<SharedEntry> Publish(const Content& content);
  Result<SharedEntry> TakePlace(const std::string& temp, const SharedName& name);
  bool ToTrash(const std::string& folder);
  uint64_t RemoveOlder(const std::string& folder, int64_t before_ns);
  void MakeRoomFor(uint64_t size);
  uint64_t TrashBytes() const;

  const Options options_;
  const VerifiedFiles verified_;
  std::atomic<bool> made_room_ = false;
};

}  // namespace forebay::storage
