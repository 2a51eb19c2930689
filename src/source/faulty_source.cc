#include "source/faulty_source.h"

#include <utility>

#include "source/identity.h"

namespace forebay::source {

void FaultySource::Add(Fault fault) {
  std::lock_guard lock(mutex_);
  plan_.push_back(std::move(fault));
}

int FaultySource::fired() const {
  std::lock_guard lock(mutex_);
  return fired_;
}

Fault FaultySource::Next(Call call, const std::string& uri) {
  Fault taken;
  {
    std::lock_guard lock(mutex_);
    for (Fault& fault : plan_) {
      if (fault.call != call || fault.times == 0) continue;
      if (uri.find(fault.uri_contains) == std::string::npos) continue;
      if (fault.skip > 0) {
        --fault.skip;
        continue;
      }
      --fault.times;
      ++fired_;
      taken = fault;
      break;
    }
  }
  if (taken.before) taken.before();
  return taken;
}

Status FaultySource::Act(const Fault& fault, Deadline deadline) {
  if (!fault.hang) return fault.status;
  while (!deadline.passed()) SleepFor(deadline.Remaining(), deadline);
  return DeadlineStatus("waiting for a source that hangs");
}

Result<std::vector<model::Object>> FaultySource::List(const std::string& uri,
                                                      Deadline deadline) {
  ++stats().requests;
  FB_RETURN_NOT_OK(Act(Next(Call::kList, uri), deadline));
  return inner_->List(uri, deadline);
}

Result<Tree> FaultySource::ListTree(const std::string& uri, Deadline deadline) {
  ++stats().requests;
  FB_RETURN_NOT_OK(Act(Next(Call::kList, uri), deadline));
  return inner_->ListTree(uri, deadline);
}

Result<Page> FaultySource::ListPage(const PageRequest& request, Deadline deadline) {
  ++stats().requests;
  FB_RETURN_NOT_OK(Act(Next(Call::kList, request.folder), deadline));
  return inner_->ListPage(request, deadline);
}

Result<model::Object> FaultySource::Stat(const std::string& uri, Deadline deadline) {
  ++stats().requests;
  FB_RETURN_NOT_OK(Act(Next(Call::kStat, uri), deadline));
  return inner_->Stat(uri, deadline);
}

Status FaultySource::Stream(const model::Object& object, Slice slice, const Sink& sink,
                            Deadline deadline) {
  ++stats().requests;
  Fault fault = Next(Call::kRead, object.uri);
  FB_RETURN_NOT_OK(Act(fault, deadline));
  int64_t first_bytes = slice.size / 2;
  if (fault.go_back) {
    FB_RETURN_NOT_OK(inner_->Stream(object, {slice.offset, first_bytes}, sink, deadline));
  }
  auto flipping = [&](int64_t at, std::span<const std::byte> piece) {
    std::vector<std::byte> bytes(piece.begin(), piece.end());
    if (at == 0 && !bytes.empty()) bytes[bytes.size() / 2] ^= std::byte{1};
    return sink(at, bytes);
  };
  FB_RETURN_NOT_OK(
      inner_->Stream(object, slice, fault.flip_a_bit ? Sink(flipping) : sink, deadline));
  stats().bytes += static_cast<uint64_t>(slice.size);
  return Status::OK();
}

Status FaultySource::Read(const model::Object& object, int64_t offset,
                          std::span<std::byte> into, Deadline deadline) {
  ++stats().requests;
  Fault fault = Next(Call::kRead, object.uri);
  FB_RETURN_NOT_OK(Act(fault, deadline));
  FB_RETURN_NOT_OK(inner_->Read(object, offset, into, deadline));
  stats().bytes += into.size();
  if (fault.flip_a_bit && !into.empty()) into[into.size() / 2] ^= std::byte{1};
  return Status::OK();
}

}  // namespace forebay::source
