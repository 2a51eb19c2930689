#include "cli/files/tree_pull.h"

#include <algorithm>

#include "cli/files/shared_files.h"
#include "cli/output.h"

namespace forebay::cli {
namespace {

// A pack of which less than this share is needed is not worth loading.
constexpr uint64_t kPackShare = 4;
constexpr size_t kThreads = 8;
constexpr size_t kPacksAtOnce = 64;  // mapped at once: about 1 GiB
constexpr size_t kFilesInARow = 128;

// One file cannot be had; others may.
bool IsOfOneFile(const Status& status) {
  switch (status.code()) {
    case StatusCode::kNotFound:
    case StatusCode::kPermission:
    case StatusCode::kChanged:
    case StatusCode::kCorrupt:
    case StatusCode::kInvalid: return true;
    default: return false;
  }
}

}  // namespace

Result<Pulled> TreePull::Run() {
  FB_RETURN_NOT_OK(tree_.MakeDirectories());
  Plan();
  // As early as it is safe: a pull that is ended goes on where it was.
  if (can_tell_) FB_RETURN_NOT_OK(tree_.Remember());
  ThreadPool pool(kThreads);
  ProgressMeter meter(ProgressMeter::Stderr("pull", "files"));
  meter_ = &meter;
  FB_RETURN_NOT_OK(
      ParallelFor(pool, tasks_.size(), [&](size_t i) { return RunTask(tasks_[i]); }));
  for (size_t first = 0; first < packs_.size(); first += kPacksAtOnce) {
    size_t count = std::min(kPacksAtOnce, packs_.size() - first);
    FB_RETURN_NOT_OK(RunPacks(pool, std::span(packs_).subspan(first, count)));
  }
  for (uint32_t link : links_) FB_RETURN_NOT_OK(Note(link, tree_.MakeLink(link)));
  if (!can_tell_ && pulled_.failures.empty()) FB_RETURN_NOT_OK(tree_.Remember());
  pulled_.left_out += manifest().left_out_count();
  return pulled_;
}

void TreePull::Plan() {
  std::vector<Task> packs(manifest().packs().size());
  for (uint32_t file = 0; file < manifest().files().size(); ++file) {
    if (PulledTree::IsReserved(manifest().FilePath(file))) {
      ++pulled_.left_out;
      continue;
    }
    if (tree_.IsThere(file)) {
      ++pulled_.files_kept;
      continue;
    }
    ++needed_;
    uint32_t pack = manifest().files()[file].pack;
    if (manifest().files()[file].is_link()) {
      links_.push_back(file);
      continue;
    }
    can_tell_ = can_tell_ && !tree_.HasSizeAndTime(file);
    if (shared_ == nullptr && pack < packs.size()) {
      packs[pack].files.push_back(file);
    } else {
      tasks_.push_back({.pack = model::kNoPack, .files = {file}});
    }
  }
  for (uint32_t i = 0; i < packs.size(); ++i) AddPack(i, std::move(packs[i]));
}

void TreePull::AddPack(uint32_t pack, Task task) {
  if (task.files.empty()) return;
  uint64_t bytes = 0;
  for (uint32_t file : task.files) {
    bytes += static_cast<uint64_t>(manifest().files()[file].size);
  }
  bool whole = bytes >= manifest().packs()[pack].size / kPackShare;
  if (whole) task.pack = pack;
  (whole ? packs_ : tasks_).push_back(std::move(task));
}

Status TreePull::RunTask(const Task& task) {
  if (shared_ == nullptr && task.files.size() > 1) {
    std::vector<reader::RemoteFiles::Place> places;
    for (uint32_t file : task.files) places.push_back({file, 0});
    (void)files_.Bring(places);  // all at once; which of them failed is said below
  }
  for (uint32_t file : task.files) {
    FB_RETURN_NOT_OK(Note(file, BringFile(file)));
  }
  return Status::OK();
}

Status TreePull::BringFile(uint32_t file) {
  if (shared_ == nullptr) return tree_.Copy(file);
  return CopyShared(
      *shared_,
      {.files = files_,
       .file = file,
       .from = [&](const std::string& path) { return tree_.CopyFrom(file, path); },
       .without = [&] { return tree_.Copy(file); }});
}

// Packs hold files of all folders; written folder by folder, they take the disk less
// time.
Status TreePull::RunPacks(ThreadPool& pool, std::span<const Task> tasks) {
  std::vector<std::shared_ptr<const reader::MappedChunk>> chunks(tasks.size());
  FB_RETURN_NOT_OK(ParallelFor(pool, tasks.size(), [&](size_t i) -> Status {
    auto chunk = files_.Chunk({tasks[i].pack, model::kPackGroup});
    if (!chunk.ok()) {  // for one file of it, perhaps
      return IsOfOneFile(chunk.status()) ? RunTask(tasks[i]) : chunk.status();
    }
    chunks[i] = *std::move(chunk);
    return Status::OK();
  }));
  std::vector<std::pair<uint32_t, size_t>> files;  // and its chunk
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (chunks[i] == nullptr) continue;
    for (uint32_t file : tasks[i].files) files.emplace_back(file, i);
  }
  std::ranges::sort(files);
  size_t runs = (files.size() + kFilesInARow - 1) / kFilesInARow;
  return ParallelFor(pool, runs, [&](size_t run) -> Status {
    size_t end = std::min(files.size(), (run + 1) * kFilesInARow);
    for (size_t i = run * kFilesInARow; i < end; ++i) {
      auto [file, chunk] = files[i];
      FB_RETURN_NOT_OK(Note(file, WritePacked(file, chunks[chunk]->mapping->bytes())));
    }
    return Status::OK();
  });
}

Status TreePull::WritePacked(uint32_t file, std::string_view pack) {
  const model::FileRecord& record = manifest().files()[file];
  if (record.pack_offset > pack.size()) return Status::Corrupt("a pack is too short");
  return tree_.Write(file,
                     pack.substr(record.pack_offset, static_cast<size_t>(record.size)));
}

// Counts the file, or notes why it could not be had; what ends everything is returned.
Status TreePull::Note(uint32_t file, Status status) {
  std::lock_guard lock(mutex_);
  if (!status.ok()) {
    if (!IsOfOneFile(status)) return status;
    pulled_.failures.push_back(
        Printable(manifest().FilePath(file) + ": " + status.message()));
    return Status::OK();
  }
  ++pulled_.files;
  pulled_.bytes += static_cast<uint64_t>(manifest().files()[file].size);
  meter_->Update({.done = pulled_.files, .total = needed_, .bytes = pulled_.bytes});
  return Status::OK();
}

}  // namespace forebay::cli
