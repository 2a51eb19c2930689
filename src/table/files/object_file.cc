#include "table/files/object_file.h"

#include <arrow/buffer.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/arrow_status.h"
#include "source/range_reader.h"

namespace forebay::table {
namespace {

std::span<std::byte> Bytes(arrow::Buffer& buffer) {
  return {reinterpret_cast<std::byte*>(buffer.mutable_data()),
          static_cast<size_t>(buffer.size())};
}

// Adds the time it lives to a counter, if there is one.
class ReadTimer {
 public:
  explicit ReadTimer(std::atomic<uint64_t>* total)
      : total_(total), start_(std::chrono::steady_clock::now()) {}
  ~ReadTimer() {
    std::chrono::nanoseconds took = std::chrono::steady_clock::now() - start_;
    if (total_ != nullptr) *total_ += static_cast<uint64_t>(took.count());
  }
  ReadTimer(const ReadTimer&) = delete;
  ReadTimer& operator=(const ReadTimer&) = delete;

 private:
  std::atomic<uint64_t>* total_;
  TimePoint start_;
};

}  // namespace

Status ObjectFile::Prefetch(const std::vector<arrow::io::ReadRange>& ranges) {
  std::vector<Ready> wanted;
  for (const arrow::io::ReadRange& range : ranges) {
    if (range.offset < 0 || range.length < 0 || range.offset > size() ||
        range.length > size() - range.offset) {
      return Status::Corrupt(
          fmt::format("bytes {} to {} are past the end of the file ({})", range.offset,
                      range.offset + range.length, size()));
    }
    if (range.length == 0 || Find(range.offset, range.length) != nullptr) continue;
    auto buffer = arrow::AllocateBuffer(range.length, access_.memory_pool);
    if (!buffer.ok()) return FromArrow(buffer.status());
    wanted.push_back({range.offset, std::move(*buffer)});
  }
  FB_RETURN_NOT_OK(Fill(wanted));
  ready_.insert(ready_.end(), wanted.begin(), wanted.end());
  std::ranges::sort(ready_, {}, &Ready::offset);
  return Status::OK();
}

Status ObjectFile::PrefetchTail(int64_t bytes) {
  int64_t count = std::min(bytes, size());
  FB_RETURN_NOT_OK(Prefetch({{size() - count, count}}));
  for (Ready& range : ready_)
    range.is_tail = range.is_tail || range.offset == size() - count;
  return Status::OK();
}

Status ObjectFile::Fill(const std::vector<Ready>& ranges) {
  ReadTimer timer(access_.read_ns);
  source::Source& source = *access_.source;
  if (access_.pool == nullptr || ranges.empty()) {
    for (const Ready& range : ranges) {
      FB_RETURN_NOT_OK(source.Read(access_.object, range.offset, Bytes(*range.bytes),
                                   access_.deadline));
    }
    return Status::OK();
  }
  std::vector<source::Range> parts;
  for (const Ready& range : ranges) parts.push_back({range.offset, Bytes(*range.bytes)});
  return source::ReadRanges(source, access_.object, parts, *access_.pool,
                            access_.deadline);
}

arrow::Result<int64_t> ObjectFile::Clamp(int64_t position, int64_t count) const {
  if (position < 0 || count < 0 || position > size()) {
    return arrow::Status::SerializationError(
        fmt::format("byte {} is past the end of the file ({})", position, size()));
  }
  return std::min(count, size() - position);
}

std::shared_ptr<arrow::Buffer> ObjectFile::Find(int64_t position, int64_t count) const {
  auto after = std::ranges::upper_bound(ready_, position, {}, &Ready::offset);
  while (after != ready_.begin()) {
    --after;
    if (position + count <= after->offset + after->bytes->size()) {
      return arrow::SliceBuffer(after->bytes, position - after->offset, count);
    }
    if (after->offset + after->bytes->size() <= position) break;
  }
  return nullptr;
}

arrow::Result<int64_t> ObjectFile::ReadAt(int64_t position, int64_t count, void* out) {
  ARROW_ASSIGN_OR_RAISE(count, Clamp(position, count));
  if (count == 0) return 0;
  if (auto ready = Find(position, count)) {
    std::memcpy(out, ready->data(), static_cast<size_t>(count));
    return count;
  }
  ReadTimer timer(access_.read_ns);
  std::span into(static_cast<std::byte*>(out), static_cast<size_t>(count));
  ARROW_RETURN_NOT_OK(
      ToArrow(access_.source->Read(access_.object, position, into, access_.deadline)));
  return count;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> ObjectFile::ReadAt(int64_t position,
                                                                 int64_t count) {
  ARROW_ASSIGN_OR_RAISE(count, Clamp(position, count));
  if (auto ready = Find(position, count)) return ready;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer,
                        arrow::AllocateBuffer(count, access_.memory_pool));
  if (count == 0) return buffer;
  ARROW_RETURN_NOT_OK(ToArrow(Fill({{position, buffer}})));
  return buffer;
}

arrow::Result<int64_t> ObjectFile::Read(int64_t count, void* out) {
  ARROW_ASSIGN_OR_RAISE(int64_t got, ReadAt(position_, count, out));
  position_ += got;
  return got;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> ObjectFile::Read(int64_t count) {
  ARROW_ASSIGN_OR_RAISE(auto buffer, ReadAt(position_, count));
  position_ += buffer->size();
  return buffer;
}

arrow::Status ObjectFile::Seek(int64_t position) {
  position_ = position;
  return arrow::Status::OK();
}

arrow::Status ObjectFile::Close() {
  closed_ = true;
  return arrow::Status::OK();
}

}  // namespace forebay::table
