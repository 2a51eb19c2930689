// The part of RemoteTable that is about rows which the node's peers gather.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/errno_status.h"
#include "reader/remote_table.h"
#include "reader/residency.h"

namespace forebay::reader {
namespace {

constexpr milliseconds kSendTime = std::chrono::seconds(5);
constexpr char kNamedScheme[] = "forebay://";

Result<UniqueFd> RowsFd(std::span<const uint64_t> rows) {
  UniqueFd fd(::memfd_create("forebay-row-numbers", MFD_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, "make a memory file");
  const char* from = reinterpret_cast<const char*>(rows.data());
  for (size_t left = rows.size_bytes(); left > 0;) {
    ssize_t n = ::write(fd.get(), from, left);
    if (n < 0) return ErrnoStatus(errno, "write a memory file");
    from += n;
    left -= static_cast<size_t>(n);
  }
  return fd;
}

Status ReadParts(int fd, std::vector<uint32_t>* parts) {
  auto* to = reinterpret_cast<char*>(parts->data());
  size_t size = parts->size() * sizeof(uint32_t);
  for (size_t done = 0; done < size;) {
    ssize_t n = ::pread(fd, to + done, size - done, static_cast<off_t>(done));
    if (n < 0) return ErrnoStatus(errno, "read where rows are");
    if (n == 0) return Status::Corrupt("the node does not say where all rows are");
    done += static_cast<size_t>(n);
  }
  return Status::OK();
}

}  // namespace

Result<wire::Room> RemoteTable::AskRoom(View& view, Deadline deadline) {
  wire::Room room;
  FB_RETURN_NOT_OK(WithNode(view, deadline, [&]() -> Status {
    FB_ASSIGN_OR_RETURN(Answer answer, link_.Call(wire::GetRoom{view.id}, {}, deadline));
    auto* message = std::get_if<wire::Room>(&answer.message);
    if (message == nullptr) return Status::Corrupt("the node does not tell its room");
    room = *message;
    return Status::OK();
  }));
  return room;
}

Result<wire::Room> RemoteTable::Room(uint32_t view) {
  CheckFork();
  std::lock_guard lock(mutex_);
  return AskRoom(*views_[view], Deadline::After(options_.timeout));
}

Result<bool> RemoteTable::Fits(uint32_t view_index) {
  CheckFork();
  std::lock_guard lock(mutex_);
  View& view = *views_[view_index];
  if (view.columns.empty()) return true;
  FB_ASSIGN_OR_RETURN(wire::Room room, AskRoom(view, Deadline::After(options_.timeout)));
  return StoredBytesMin(*manifest_, view.columns) <= room.store_bytes;
}

Result<bool> RemoteTable::Gathers(uint32_t view_index) {
  CheckFork();
  std::lock_guard lock(mutex_);
  View& view = *views_[view_index];
  // Only names of a cluster have peers.
  if (!uri_.starts_with(kNamedScheme) || view.columns.empty()) return false;
  if (view.gathers) return *view.gathers;
  FB_ASSIGN_OR_RETURN(wire::Room room, AskRoom(view, Deadline::After(options_.timeout)));
  uint64_t needed = StoredBytesMin(*manifest_, view.columns);
  bool fits_here = needed <= room.store_bytes;
  view.gathers = !fits_here && needed <= room.cluster_bytes;
  return *view.gathers;
}

void RemoteTable::SetGathers(uint32_t view) {
  CheckFork();
  std::lock_guard lock(mutex_);
  views_[view]->gathers = true;
}

Status RemoteTable::SendGather(const View& view, uint64_t ticket,
                               std::span<const uint64_t> rows, Deadline deadline) {
  FB_ASSIGN_OR_RETURN(UniqueFd fd, RowsFd(rows));
  wire::Gather gather{.view = view.id, .ticket = ticket, .row_count = rows.size()};
  return link_.Send(gather, {fd.get()}, deadline).status();
}

RemoteTable::GatherTicket RemoteTable::Gather(uint32_t view_index,
                                              std::span<const uint64_t> rows) {
  CheckFork();
  std::lock_guard lock(mutex_);
  View& view = *views_[view_index];
  GatherTicket ticket{.number = next_ticket_++};
  if (!link_.connected() || view.generation != link_.generation()) return ticket;
  Status sent = SendGather(view, ticket.number, rows, Deadline::After(kSendTime));
  if (sent.ok()) ticket.generation = link_.generation();
  return ticket;
}

Result<RemoteTable::RowParts> RemoteTable::TakeGathered(uint32_t view_index,
                                                        GatherTicket ticket,
                                                        std::span<const uint64_t> rows) {
  CheckFork();
  std::lock_guard lock(mutex_);
  View& view = *views_[view_index];
  Deadline deadline = Deadline::After(options_.timeout);
  RowParts out;
  auto attempt = [&]() -> Status {
    if (ticket.generation != link_.generation()) {
      // A number that no ticket of an interrupted wait has.
      ticket = {.number = next_ticket_++, .generation = link_.generation()};
      FB_RETURN_NOT_OK(SendGather(view, ticket.number, rows, deadline));
    }
    out = {.part_of = std::vector<uint32_t>(rows.size()), .parts = {}};
    return ReceiveGathered(view, ticket.number, deadline, &out);
  };
  Status status = WithNode(view, deadline, attempt);
  if (status.code() == StatusCode::kNotFound) {
    // It was one too many for the node, or is used up.
    ticket = {};
    status = WithNode(view, deadline, attempt);
  }
  if (status.code() == StatusCode::kNotFound) {
    return RowParts{.part_of = std::vector<uint32_t>(rows.size(), wire::kRowInChunks),
                    .parts = {}};
  }
  if (!status.ok()) return status;
  return out;
}

Status RemoteTable::ReceiveGathered(const View& view, uint64_t ticket, Deadline deadline,
                                    RowParts* out) {
  wire::GetGathered get{
      .ticket = ticket,
      .timeout_ms = static_cast<uint64_t>(deadline.Remaining().count())};
  FB_ASSIGN_OR_RETURN(uint64_t request, link_.Send(get, {}, deadline));
  for (bool first = true;; first = false) {
    FB_ASSIGN_OR_RETURN(Answer answer, link_.Receive(request, deadline));
    if (auto* failure = std::get_if<wire::Failure>(&answer.message)) {
      return failure->status;
    }
    auto* gathered = std::get_if<wire::Gathered>(&answer.message);
    bool right = gathered != nullptr &&
                 answer.fds.size() == gathered->sizes.size() + (first ? 1 : 0) &&
                 out->parts.size() + gathered->sizes.size() <= gathered->part_count;
    if (!right) return Status::Corrupt("the node handed over other rows than asked for");
    if (first) FB_RETURN_NOT_OK(ReadParts(answer.fds[0].get(), &out->part_of));
    FB_RETURN_NOT_OK(MapParts(view, answer, first ? 1 : 0, out));
    if (out->parts.size() == gathered->part_count) return Status::OK();
  }
}

Status RemoteTable::MapParts(const View& view, const Answer& answer, size_t first_fd,
                             RowParts* out) {
  const auto& gathered = std::get<wire::Gathered>(answer.message);
  std::vector<const model::Field*> fields;
  for (uint32_t column : view.columns) {
    fields.push_back(&manifest_->schema().fields[column]);
  }
  for (size_t i = 0; i < gathered.sizes.size(); ++i) {
    auto part = static_cast<uint32_t>(out->parts.size());
    auto rows = static_cast<uint64_t>(std::ranges::count(out->part_of, part));
    auto chunk = std::make_shared<MappedChunk>();
    FB_ASSIGN_OR_RETURN(chunk->mapping,
                        Mapping::Map(answer.fds[first_fd + i].get(), gathered.sizes[i],
                                     Mapping::Mode::kShared));
    FB_ASSIGN_OR_RETURN(chunk->columns,
                        ParseChunk(chunk->mapping->bytes(), fields, rows));
    out->parts.push_back(std::move(chunk));
  }
  return Status::OK();
}

void RemoteTable::DropGathered(std::span<const GatherTicket> tickets) {
  CheckFork();
  std::lock_guard lock(mutex_);
  wire::DropGathered drop;
  for (const GatherTicket& ticket : tickets) {
    if (ticket.generation == link_.generation()) drop.tickets.push_back(ticket.number);
  }
  if (drop.tickets.empty() || !link_.connected()) return;
  (void)link_.Send(std::move(drop), {}, Deadline::After(kSendTime));
}

}  // namespace forebay::reader
