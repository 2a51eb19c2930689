// A source in memory, for tests and as the plainest reading of the Source contract.
// Every Put makes a new object with a new etag, so overwriting is a change.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "source/source.h"

namespace forebay::source {

class MemorySource : public Source {
 public:
  // `uri` is any text of the form scheme://authority/path.
  model::Object Put(const std::string& uri, std::string_view bytes);
  void Remove(const std::string& uri);
  // From now on every call about `uri` is kPermission.
  void Forbid(const std::string& uri);
  // From now on it lists in pages, of so many objects and folders.
  void ListInPages(size_t page_items) { page_items_ = page_items; }

  Result<std::vector<model::Object>> List(const std::string& uri,
                                          Deadline deadline) override;
  bool pages() const override { return page_items_ > 0; }
  Result<Page> ListPage(const PageRequest& request, Deadline deadline) override;
  Result<model::Object> Stat(const std::string& uri, Deadline deadline) override;
  Status Read(const model::Object& object, int64_t offset, std::span<std::byte> into,
              Deadline deadline) override;
  bool streams() const override { return true; }
  Status Stream(const model::Object& object, Slice slice, const Sink& sink,
                Deadline deadline) override;

 private:
  struct Entry {
    std::shared_ptr<const std::string> bytes;
    std::string etag;
    bool forbidden = false;
  };
  Result<Entry> Find(const std::string& uri);

  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  uint64_t put_count_ = 0;
  size_t page_items_ = 0;
};

}  // namespace forebay::source
