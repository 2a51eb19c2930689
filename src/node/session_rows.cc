// What a session says about rows by number, and about the room there is for all of them.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/errno_status.h"
#include "node/read_whole.h"
#include "node/session.h"

namespace forebay::node {
namespace {

constexpr milliseconds kTakeTimeMax = std::chrono::hours(24);

Result<std::vector<uint64_t>> ReadRows(int fd, uint64_t count) {
  std::vector<uint64_t> rows(count);
  FB_RETURN_NOT_OK(
      ReadWhole(fd, reinterpret_cast<char*>(rows.data()), count * sizeof(uint64_t)));
  return rows;
}

Result<UniqueFd> NumbersFd(const std::vector<uint32_t>& numbers) {
  UniqueFd fd(::memfd_create("forebay-parts", MFD_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, "make a memory file");
  const char* from = reinterpret_cast<const char*>(numbers.data());
  for (size_t left = numbers.size() * sizeof(uint32_t); left > 0;) {
    ssize_t n = ::write(fd.get(), from, left);
    if (n < 0) return ErrnoStatus(errno, "write a memory file");
    from += n;
    left -= static_cast<size_t>(n);
  }
  return fd;
}

}  // namespace

Status Session::On(const wire::Gather& gather) {
  FB_ASSIGN_OR_RETURN(cache::View view, FindTable(gather.view));
  if (packet_.fds.size() != 1 || gather.row_count > wire::kGatherRowsMax) {
    return Status::Invalid("row numbers come in a file, not too many at once");
  }
  if (view.version->peers == nullptr) {
    return Status::Invalid("only rows of a cluster's datasets are gathered");
  }
  cache::RowRequest request{.view = view, .rows = {}, .store = &host_->engine().store()};
  FB_ASSIGN_OR_RETURN(request.rows, ReadRows(packet_.fds[0].get(), gather.row_count));
  uint64_t row_count = view.manifest().row_count();
  auto there = [&](uint64_t row) { return row < row_count; };
  if (!std::ranges::all_of(request.rows, there)) return Status::Invalid("no such row");
  return rows_.Start(gather.ticket, std::move(request));
}

Status Session::On(const wire::GetGathered& get) {
  auto timeout = milliseconds(
      std::min<uint64_t>(get.timeout_ms, static_cast<uint64_t>(kTakeTimeMax.count())));
  Deadline deadline = Deadline::After(get.timeout_ms == 0 ? kTakeTimeMax : timeout);
  auto gone = [this] { return channel_.PeerGone(); };
  FB_ASSIGN_OR_RETURN(cache::GatheredRows rows, rows_.Take(get.ticket, deadline, gone));
  return HandOverRows(get.ticket, rows);
}

Status Session::HandOverRows(uint64_t ticket, const cache::GatheredRows& rows) {
  FB_ASSIGN_OR_RETURN(UniqueFd part_of, NumbersFd(rows.part_of));
  std::vector<int> fds = {part_of.get()};
  wire::Gathered message{.ticket = ticket,
                         .part_count = static_cast<uint32_t>(rows.parts.size())};
  for (const auto& part : rows.parts) {
    if (fds.size() == wire::kMessageFdsMax) {
      FB_RETURN_NOT_OK(Answer(message, fds));
      fds.clear();
      message.sizes.clear();
    }
    fds.push_back(part.fd.get());
    message.sizes.push_back(part.size);
  }
  return Answer(std::move(message), fds);
}

Status Session::On(const wire::DropGathered& drop) {
  rows_.Drop(drop.tickets);
  return Status::OK();
}

Status Session::On(const wire::GetRoom& get) {
  FB_ASSIGN_OR_RETURN(cache::View view, FindTable(get.view));
  wire::Room room{.store_bytes = host_->engine().store().MappableBytes()};
  const auto& peers = view.version->peers;
  if (peers != nullptr) {
    room.cluster_bytes = peers->RoomBytes();
  }
  return Answer(room);
}

}  // namespace forebay::node
