// The sources of a mount in its serving process: opens them, or goes on with the versions
// that the process before had, and looks for newer ones.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "fuse/filesystem.h"
#include "fuse/supervisor_link.h"

namespace forebay::fuse {

struct SourceSpec {
  std::string uri;   // absolute
  std::string name;  // the folder it is; empty: the mount itself
};

class Sources {
 public:
  struct Options {
    std::vector<SourceSpec> specs;
    reader::OpenOptions open;
    uint64_t mapped_bytes_max = 0;  // of all sources together
    Filesystem* filesystem = nullptr;
    SupervisorLink* supervisor = nullptr;
  };
  explicit Sources(Options options);

  // Every source at its version of now; the supervisor is told.
  Status Open();
  // A version that the supervisor kept.
  Status Resume(Letter letter);

  struct Refreshed {
    uint32_t source = 0;
    GenerationPtr before;
    GenerationPtr now;
  };
  // Adds those whose version changed, also when another one fails. The file system shows
  // them from now on; the kernel does not know it yet.
  Status Refresh(std::vector<Refreshed>* out);
  // The last step of every source, for whoever must tell the kernel again.
  std::vector<Refreshed> LastSteps() const;
  // Hears what was evicted from the store, so that its room can be used.
  void Poll();
  // Lets go of all pages of chunks and manifests; they come again when they are touched.
  void LetGoOfPages();

 private:
  Result<reader::OpenOptions> OptionsOf(const SourceSpec& spec) const;
  Result<bool> OpenNext(uint32_t source);
  void Keep(uint32_t source, std::shared_ptr<reader::RemoteFiles> files,
            GenerationPtr generation);
  Status Tell(uint32_t source, const Generation& generation, int manifest, int births);

  Options options_;
  mutable std::mutex mutex_;
  // Of all versions of all sources: refreshes take no more memory and no more links.
  reader::FilesShare share_;
  std::vector<std::shared_ptr<reader::RemoteFiles>> opened_;
  std::vector<std::shared_ptr<reader::RemoteFiles>> newest_;  // by source
};

}  // namespace forebay::fuse
