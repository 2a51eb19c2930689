// The kernel's side of a mount: <linux/fuse.h> as far as every supported system has it,
// and what came later (7.40: passthrough, resend) under names of our own.
#pragma once

#include <linux/fuse.h>
#include <linux/ioctl.h>

#include <cstdint>

namespace forebay::fuse::kernel {

// What we say we speak; the kernel serves us as a daemon of that version.
constexpr uint32_t kMinor = 40;
// The oldest kernel protocol that has everything we cannot do without (Linux 5.4).
constexpr uint32_t kMinorMin = 31;

// Flags of INIT, both words as one.
constexpr uint64_t kInitExtended = uint64_t{1} << 30;
constexpr uint64_t kDirectIoAllowMmap = uint64_t{1} << 36;
constexpr uint64_t kPassthrough = uint64_t{1} << 37;
constexpr uint64_t kHasResend = uint64_t{1} << 39;

// In the answer to OPEN.
constexpr uint32_t kOpenPassthrough = 1 << 7;

// A request that is sent again carries this bit in its number.
constexpr uint64_t kUniqueResend = uint64_t{1} << 63;

constexpr int32_t kNotifyResend = 7;

struct InitOut {
  uint32_t major;
  uint32_t minor;
  uint32_t max_readahead;
  uint32_t flags;
  uint16_t max_background;
  uint16_t congestion_threshold;
  uint32_t max_write;
  uint32_t time_gran;
  uint16_t max_pages;
  uint16_t map_alignment;
  uint32_t flags2;
  uint32_t max_stack_depth;
  uint32_t unused[6];
};
static_assert(sizeof(InitOut) == sizeof(fuse_init_out));

struct OpenOut {
  uint64_t fh;
  uint32_t open_flags;
  int32_t backing_id;
};
static_assert(sizeof(OpenOut) == sizeof(fuse_open_out));

struct BackingMap {
  int32_t fd;
  uint32_t flags;
  uint64_t padding;
};

constexpr unsigned long kIoctlClone = _IOR(229, 0, uint32_t);
constexpr unsigned long kIoctlBackingOpen = _IOW(229, 1, BackingMap);
constexpr unsigned long kIoctlBackingClose = _IOW(229, 2, uint32_t);

}  // namespace forebay::fuse::kernel
