#include "storage/memory_tier.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>

#include "base/errno_status.h"
#include "storage/file_io.h"

namespace forebay::storage {
namespace {

// Descriptors left for sockets, sources and directories.
constexpr uint64_t kSpareDescriptors = 512;

// Each chunk holds a descriptor, so the process's limit bounds how many there can be.
uint64_t DescriptorsForChunks() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kSpareDescriptors;
  if (limit.rlim_cur <= 2 * kSpareDescriptors) return limit.rlim_cur / 2;
  return limit.rlim_cur - kSpareDescriptors;
}

}  // namespace

MemoryTier::MemoryTier() : chunk_count_max_(DescriptorsForChunks()) {}

Result<Draft> MemoryTier::NewDraft(uint64_t claimed_bytes) {
  UniqueFd fd(memfd_create("forebay-chunk", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return ErrnoStatus(errno, "create a memfd for a chunk");
  Draft draft({.fd = std::move(fd), .temp_path = {}});
  draft.PrepareMemory(claimed_bytes);
  return draft;
}

Result<std::shared_ptr<const UniqueFd>> MemoryTier::Publish(Draft& draft,
                                                            const ChunkName&, int64_t) {
  FB_RETURN_NOT_OK(draft.CutToSize());
  constexpr int kSeals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (fcntl(draft.fd(), F_ADD_SEALS, kSeals) != 0) {
    return ErrnoStatus(errno, "seal a memfd chunk");
  }
  auto reopened = OpenFile(fmt::format("/proc/self/fd/{}", draft.fd()), O_RDONLY);
  if (reopened.ok()) return std::make_shared<const UniqueFd>(*std::move(reopened));
  // Without /proc the sealed descriptor itself must do: it cannot be written either.
  return std::make_shared<const UniqueFd>(draft.TakeFd());
}

Result<UniqueFd> MemoryTier::Open(const ChunkName& name) const {
  return Status::NotFound("no memfd is kept by name: " + name.ToString());
}

}  // namespace forebay::storage
