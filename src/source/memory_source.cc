#include "source/memory_source.h"

#include <algorithm>

#include "source/identity.h"

namespace forebay::source {
namespace {

// As large as a connection gives them, and not a divisor of much.
constexpr size_t kPieceBytes = 100'000;

model::Object MakeObject(const std::string& uri, const std::string& bytes,
                         const std::string& etag) {
  model::Object object{uri, {}};
  object.identity.size = static_cast<int64_t>(bytes.size());
  object.identity.etag = etag;
  return object;
}

Status Forbidden(const std::string& uri) {
  return Status::Permission("reading is forbidden: " + uri);
}

}  // namespace

model::Object MemorySource::Put(const std::string& uri, std::string_view bytes) {
  std::lock_guard lock(mutex_);
  Entry& entry = entries_[uri];
  entry.bytes = std::make_shared<const std::string>(bytes);
  entry.etag = "v" + std::to_string(++put_count_);
  return MakeObject(uri, *entry.bytes, entry.etag);
}

void MemorySource::Remove(const std::string& uri) {
  std::lock_guard lock(mutex_);
  entries_.erase(uri);
}

void MemorySource::Forbid(const std::string& uri) {
  std::lock_guard lock(mutex_);
  auto found = entries_.find(uri);
  if (found != entries_.end()) found->second.forbidden = true;
}

Result<std::vector<model::Object>> MemorySource::List(const std::string& uri,
                                                      Deadline deadline) {
  if (deadline.passed()) return DeadlineStatus("listing " + uri);
  ++stats().requests;
  std::string folder = uri.ends_with('/') ? uri : uri + "/";
  std::lock_guard lock(mutex_);
  std::vector<model::Object> objects;
  for (const auto& [key, entry] : entries_) {
    if (key != uri && !key.starts_with(folder)) continue;
    if (entry.forbidden) return Forbidden(key);
    objects.push_back(MakeObject(key, *entry.bytes, entry.etag));
  }
  if (objects.empty()) return Status::NotFound("nothing is at or below " + uri);
  return objects;
}

Result<Page> MemorySource::ListPage(const PageRequest& request, Deadline deadline) {
  if (deadline.passed()) return DeadlineStatus("listing " + request.folder);
  ++stats().requests;
  std::lock_guard lock(mutex_);
  Page page;
  // `next` is what the next page comes after.
  std::string after = std::max(request.start_after, request.next);
  for (auto it = entries_.lower_bound(std::max(request.folder, after));
       it != entries_.end() && it->first.starts_with(request.folder); ++it) {
    const auto& [key, entry] = *it;
    size_t slash = request.one_level ? key.find('/', request.folder.size()) : key.npos;
    std::string folder = slash == key.npos ? "" : key.substr(0, slash + 1);
    bool known = !page.folders.empty() && page.folders.back() == folder;
    if (key <= after || (!folder.empty() && (known || after.starts_with(folder)))) {
      continue;
    }
    if (page.objects.size() + page.folders.size() == page_items_) return page;
    page.next = key;
    if (folder.empty()) {
      page.objects.push_back(MakeObject(key, *entry.bytes, entry.etag));
    } else {
      page.folders.push_back(folder);
    }
  }
  page.next.clear();
  return page;
}

Result<MemorySource::Entry> MemorySource::Find(const std::string& uri) {
  std::lock_guard lock(mutex_);
  auto found = entries_.find(uri);
  if (found == entries_.end()) return Status::NotFound("no such object: " + uri);
  if (found->second.forbidden) return Forbidden(uri);
  return found->second;
}

Result<model::Object> MemorySource::Stat(const std::string& uri, Deadline deadline) {
  if (deadline.passed()) return DeadlineStatus("asking for " + uri);
  ++stats().requests;
  FB_ASSIGN_OR_RETURN(Entry entry, Find(uri));
  return MakeObject(uri, *entry.bytes, entry.etag);
}

Status MemorySource::Read(const model::Object& object, int64_t offset,
                          std::span<std::byte> into, Deadline deadline) {
  return Stream(object, {offset, static_cast<int64_t>(into.size())}, CopyInto(into),
                deadline);
}

Status MemorySource::Stream(const model::Object& object, Slice slice, const Sink& sink,
                            Deadline deadline) {
  auto size = static_cast<size_t>(slice.size);
  FB_RETURN_NOT_OK(CheckRange(object, slice.offset, size));
  if (deadline.passed()) return DeadlineStatus("reading " + object.uri);
  ++stats().requests;
  FB_ASSIGN_OR_RETURN(Entry entry, Find(object.uri));
  if (MakeObject(object.uri, *entry.bytes, entry.etag).identity != object.identity) {
    return ChangedStatus(object);
  }
  auto bytes = std::as_bytes(std::span(*entry.bytes))
                   .subspan(static_cast<size_t>(slice.offset), size);
  for (size_t at = 0; at < size; at += kPieceBytes) {
    auto piece = bytes.subspan(at, std::min(kPieceBytes, size - at));
    FB_RETURN_NOT_OK(sink(static_cast<int64_t>(at), piece));
  }
  stats().bytes += size;
  return Status::OK();
}

}  // namespace forebay::source
