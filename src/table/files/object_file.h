// A pinned source object as an Arrow file. Reads are of that identity or fail; what was
// prefetched is served without a copy.
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/util/future.h>

#include <atomic>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "model/object.h"
#include "source/source.h"

namespace forebay::table {

// What it takes to read one object.
struct ObjectAccess {
  std::shared_ptr<source::Source> source;
  model::Object object;
  arrow::MemoryPool* memory_pool = arrow::default_memory_pool();
  ThreadPool* pool = nullptr;
  Deadline deadline = Deadline::Never();
  std::atomic<uint64_t>* read_ns = nullptr;  // time spent waiting for the source
};

// Not for several threads at once.
class ObjectFile : public arrow::io::RandomAccessFile {
 public:
  explicit ObjectFile(ObjectAccess access) : access_(std::move(access)) {}
  ~ObjectFile() override = default;

  // Reads the ranges now, in parallel, and keeps them until they are forgotten. A range
  // that leaves the file is kCorrupt: offsets come from the file itself.
  Status Prefetch(const std::vector<arrow::io::ReadRange>& ranges);
  // The last `bytes` of the file: where its footer is.
  Status PrefetchTail(int64_t bytes);
  void Forget() { ready_.clear(); }
  // All but the tail, which for a small file is the whole of it.
  void ForgetAllButTail() {
    std::erase_if(ready_, [](const Ready& range) { return !range.is_tail; });
  }

  const ObjectAccess& access() const { return access_; }

  arrow::Result<int64_t> GetSize() override { return size(); }
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t count, void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position,
                                                       int64_t count) override;
  // At once, on the calling thread: no read may outlive the call that asked for it, or
  // the memory pool it allocates from.
  arrow::Future<std::shared_ptr<arrow::Buffer>> ReadAsync(const arrow::io::IOContext&,
                                                          int64_t position,
                                                          int64_t count) override {
    return arrow::Future<std::shared_ptr<arrow::Buffer>>::MakeFinished(
        ReadAt(position, count));
  }
  arrow::Result<int64_t> Read(int64_t count, void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t count) override;
  arrow::Status Seek(int64_t position) override;
  arrow::Result<int64_t> Tell() const override { return position_; }
  arrow::Status Close() override;
  bool closed() const override { return closed_; }

 private:
  struct Ready {
    int64_t offset;
    std::shared_ptr<arrow::Buffer> bytes;
    bool is_tail = false;
  };

  int64_t size() const { return access_.object.identity.size; }
  arrow::Result<int64_t> Clamp(int64_t position, int64_t count) const;
  std::shared_ptr<arrow::Buffer> Find(int64_t position, int64_t count) const;
  Status Fill(const std::vector<Ready>& ranges);

  ObjectAccess access_;
  std::vector<Ready> ready_;
  int64_t position_ = 0;
  bool closed_ = false;
};

}  // namespace forebay::table
