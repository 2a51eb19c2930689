#include "source/range_reader.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "base/size.h"
#include "source/identity.h"

namespace forebay::source {
namespace {

constexpr int64_t kRequestBytes = 8 * kMiB;
// A range this large is worth a request of its own and is never copied.
constexpr int64_t kSmallBytes = 2 * kMiB;
constexpr int64_t kHoleBytesMax = 1 * kMiB;
// Reading so little is always cheaper than one more request.
constexpr int64_t kHoleBytesFree = 4 * kKiB;
// Otherwise holes may add up to an eighth of what was asked for.
constexpr int64_t kWasteShare = 8;

int64_t SizeOf(const Range& range) { return static_cast<int64_t>(range.into.size()); }

// One request: straight into the only part, or through a buffer into several.
struct Fetch {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t hole_bytes = 0;
  std::vector<Range> parts;
};

void AddSplit(const Range& range, std::vector<Fetch>* fetches) {
  int64_t count = (SizeOf(range) + kRequestBytes - 1) / kRequestBytes;
  int64_t step = (SizeOf(range) + count - 1) / count;
  for (int64_t at = 0; at < SizeOf(range); at += step) {
    int64_t length = std::min(step, SizeOf(range) - at);
    Range part{range.offset + at, range.into.subspan(at, length)};
    fetches->push_back({part.offset, part.offset + length, 0, {part}});
  }
}

bool Joins(const Fetch& fetch, const Range& range) {
  int64_t hole = range.offset - fetch.end;
  int64_t end = range.offset + SizeOf(range);
  if (hole < 0 || hole > kHoleBytesMax || end - fetch.begin > kRequestBytes) return false;
  int64_t holes = fetch.hole_bytes + hole;
  int64_t asked = end - fetch.begin - holes;
  return hole <= kHoleBytesFree || holes <= asked / kWasteShare;
}

std::vector<Fetch> PlanFetches(std::span<const Range> ranges) {
  std::vector<Range> sorted;
  for (const Range& range : ranges) {
    if (!range.into.empty()) sorted.push_back(range);
  }
  std::ranges::sort(sorted, {}, &Range::offset);
  std::vector<Fetch> fetches;
  bool open = false;  // whether the last fetch may take more parts
  for (const Range& range : sorted) {
    if (SizeOf(range) > kSmallBytes) {
      AddSplit(range, &fetches);
      open = false;
    } else if (open && Joins(fetches.back(), range)) {
      Fetch& last = fetches.back();
      last.hole_bytes += range.offset - last.end;
      last.end = range.offset + SizeOf(range);
      last.parts.push_back(range);
    } else {
      fetches.push_back({range.offset, range.offset + SizeOf(range), 0, {range}});
      open = true;
    }
  }
  return fetches;
}

Status ReadFetch(Source& source, const model::Object& object, const Fetch& fetch,
                 Deadline deadline) {
  if (fetch.parts.size() == 1) {
    return source.Read(object, fetch.begin, fetch.parts[0].into, deadline);
  }
  auto size = static_cast<size_t>(fetch.end - fetch.begin);
  auto buffer = std::make_unique_for_overwrite<std::byte[]>(size);
  FB_RETURN_NOT_OK(source.Read(object, fetch.begin, {buffer.get(), size}, deadline));
  for (const Range& part : fetch.parts) {
    std::memcpy(part.into.data(), buffer.get() + (part.offset - fetch.begin),
                part.into.size());
  }
  return Status::OK();
}

}  // namespace

Status ReadRanges(Source& source, const model::Object& object,
                  std::span<const Range> ranges, ThreadPool& pool, Deadline deadline) {
  for (const Range& range : ranges) {
    FB_RETURN_NOT_OK(CheckRange(object, range.offset, range.into.size()));
  }
  std::vector<Fetch> fetches = PlanFetches(ranges);
  size_t lanes = std::min<size_t>(fetches.size(), std::max(source.parallelism(), 1));
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};
  return ParallelFor(pool, lanes, [&](size_t) -> Status {
    while (!failed) {
      size_t index = next++;
      if (index >= fetches.size()) break;
      Status status = ReadFetch(source, object, fetches[index], deadline);
      if (status.ok()) continue;
      failed = true;
      return status;
    }
    return Status::OK();
  });
}

}  // namespace forebay::source
