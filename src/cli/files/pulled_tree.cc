#include "cli/files/pulled_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <filesystem>

#include "base/errno_status.h"
#include "base/mapping.h"
#include "cli/files/copy_out.h"

namespace forebay::cli {
namespace {

constexpr const char* kMemory = PulledTree::kReserved;
constexpr const char* kMarkText = "A pull is at work here, or was.\n";
constexpr std::string_view kManifestMagic = "FBFILES";

// Below the folder and through no link, whatever names say and others put there.
int OpenBelow(int folder, const std::string& path, uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  if ((flags & O_CREAT) != 0) how.mode = 0666;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  auto fd =
      static_cast<int>(::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof(how)));
  if (fd < 0 && errno == ENOSYS) {  // before Linux 5.6
    return ::openat(folder, path.c_str(), static_cast<int>(how.flags) | O_NOFOLLOW, 0666);
  }
  return fd;
}

// The folder that a path is in, and its name there.
struct Spot {
  UniqueFd folder;
  std::string name;
};
Spot FindSpot(int folder, const std::string& path) {
  size_t slash = path.rfind('/');
  std::string above = slash == path.npos ? "." : path.substr(0, slash);
  return {UniqueFd(OpenBelow(folder, above, O_PATH | O_DIRECTORY)),
          slash == path.npos ? path : path.substr(slash + 1)};
}

// Empty where there is no link.
std::string LinkTarget(const Spot& spot) {
  char target[PATH_MAX];
  ssize_t size =
      ::readlinkat(spot.folder.get(), spot.name.c_str(), target, sizeof(target));
  return size < 0 ? std::string() : std::string(target, static_cast<size_t>(size));
}

// .forebay-pull-<process>-<time>, perhaps with the number of a file after it.
bool IsMark(std::string_view name) {
  std::string_view prefix = kMemory;
  if (!name.starts_with(prefix) || name.size() <= prefix.size()) return false;
  std::string_view rest = name.substr(prefix.size());
  return rest[0] == '-' && rest.find_first_not_of("-0123456789") == rest.npos;
}

bool BeginsWith(int fd, std::string_view text) {
  std::string bytes(text.size(), '\0');
  return ::pread(fd, bytes.data(), bytes.size(), 0) ==
             static_cast<ssize_t>(bytes.size()) &&
         bytes == text;
}

timespec FromNanos(int64_t nanos) {
  return {.tv_sec = nanos / 1'000'000'000, .tv_nsec = nanos % 1'000'000'000};
}

bool SameTime(const timespec& time, int64_t nanos) {
  timespec other = FromNanos(nanos);
  return time.tv_sec == other.tv_sec && time.tv_nsec == other.tv_nsec;
}

}  // namespace

Result<std::unique_ptr<PulledTree>> PulledTree::Open(
    const std::string& path, std::shared_ptr<reader::RemoteFiles> files) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error == std::errc::not_a_directory) {
    return Status::Invalid(path + " is not a folder: give a folder to pull to");
  }
  if (error) return ErrnoStatus(error.value(), "make the folder " + path);
  auto tree = std::unique_ptr<PulledTree>(new PulledTree(path, std::move(files)));
  tree->folder_ = UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!tree->folder_.valid()) return ErrnoStatus(errno, "open the folder " + path);
  FB_RETURN_NOT_OK(tree->LoadPrevious());
  FB_RETURN_NOT_OK(tree->MakeMark());
  return tree;
}

// Without a memory of what was pulled, or with one that is of no use, all is pulled.
// A file of that name that no pull wrote is somebody's.
Status PulledTree::LoadPrevious() {
  UniqueFd fd(OpenBelow(folder_.get(), kMemory, O_RDONLY | O_NONBLOCK));
  struct stat st {};
  if (!fd.valid() && errno == ENOENT) return Status::OK();
  if (!fd.valid() || ::fstat(fd.get(), &st) != 0 || !S_ISREG(st.st_mode)) {
    return NotOfAPull();
  }
  if (st.st_size == 0) return Status::OK();
  FB_ASSIGN_OR_RETURN(
      auto mapping,
      Mapping::Map(fd.get(), static_cast<size_t>(st.st_size), Mapping::Mode::kShared));
  auto copy = std::make_shared<const std::string>(mapping->bytes());
  if (!copy->starts_with(kManifestMagic)) return NotOfAPull();
  auto manifest = model::FilesManifest::View(*copy, copy);
  if (manifest.ok()) previous_ = *std::move(manifest);
  return Status::OK();
}

Status PulledTree::NotOfAPull() const {
  return Status::Invalid(path_ + "/" + kMemory +
                         " was not written by a pull, which keeps its notes there; "
                         "rename it or pull to another place");
}

bool PulledTree::IsReserved(std::string_view path) {
  std::string_view first = path.substr(0, path.find('/'));
  return first == kMemory || IsMark(first);
}

bool PulledTree::IsThere(uint32_t file) const {
  const model::FilesManifest& manifest = *files_->manifest();
  std::string path = manifest.FilePath(file);
  if (manifest.files()[file].is_link()) {
    return LinkTarget(FindSpot(folder_.get(), path)) == manifest.link_target(file);
  }
  if (previous_ == nullptr) return false;
  auto before = previous_->FindFile(path);
  if (!before || previous_->origin() != manifest.origin() ||
      previous_->root() != manifest.root() ||
      previous_->object(*before).identity != manifest.object(file).identity) {
    return false;
  }
  return HasSizeAndTime(file);
}

bool PulledTree::HasSizeAndTime(uint32_t file) const {
  std::string path = files_->manifest()->FilePath(file);
  struct stat st {};
  if (::fstatat(folder_.get(), path.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISREG(st.st_mode)) {
    return false;
  }
  const model::FileRecord& record = files_->manifest()->files()[file];
  return st.st_size == record.size &&
         (record.mtime_ns == 0 || SameTime(st.st_mtim, record.mtime_ns));
}

Status PulledTree::MakeDirectories() {
  const model::FilesManifest& manifest = *files_->manifest();
  for (uint32_t i = 1; i < manifest.directories().size(); ++i) {
    std::string path(manifest.directory_path(i));
    if (!IsReserved(path)) FB_RETURN_NOT_OK(MakeDirectory(path));
  }
  return Status::OK();
}

Status PulledTree::MakeDirectory(const std::string& path) {
  Spot spot = FindSpot(folder_.get(), path);
  int folder = spot.folder.get();
  if (::mkdirat(folder, spot.name.c_str(), 0777) == 0) return Status::OK();
  if (errno != EEXIST) return ErrnoStatus(errno, "make the folder " + path_ + "/" + path);
  struct stat st {};
  bool known = ::fstatat(folder, spot.name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0;
  if (known && S_ISDIR(st.st_mode)) return Status::OK();
  if (known && S_ISLNK(st.st_mode) && IsOfAPull(path) &&
      ::unlinkat(folder, spot.name.c_str(), 0) == 0 &&
      ::mkdirat(folder, spot.name.c_str(), 0777) == 0) {
    return Status::OK();
  }
  return Status::Invalid(path_ + "/" + path +
                         " is not a folder, and files below it were to be pulled; "
                         "remove it or pull to another place");
}

bool PulledTree::IsOfAPull(const std::string& link) const {
  if (previous_ == nullptr) return false;
  auto before = previous_->FindFile(link);
  return before && previous_->files()[*before].is_link() &&
         LinkTarget(FindSpot(folder_.get(), link)) == previous_->link_target(*before);
}

Status PulledTree::MakeLink(uint32_t link) {
  const model::FilesManifest& manifest = *files_->manifest();
  std::string path = manifest.FilePath(link);
  Spot spot = FindSpot(folder_.get(), path);
  int folder = spot.folder.get();
  std::string temp = TempName(spot.name);
  std::string target(manifest.link_target(link));
  if (::symlinkat(target.c_str(), folder, temp.c_str()) != 0) {
    return ErrnoStatus(errno, "make the link " + path_ + "/" + path);
  }
  timespec time = FromNanos(manifest.files()[link].mtime_ns);
  timespec times[2] = {time, time};
  if (time.tv_sec != 0) {  // not every file system has times of links
    (void)::utimensat(folder, temp.c_str(), times, AT_SYMLINK_NOFOLLOW);
  }
  auto rename = [&] {
    return ::renameat(folder, temp.c_str(), folder, spot.name.c_str()) == 0;
  };
  if (rename()) return Status::OK();
  // An empty folder may go; one with files is somebody's.
  bool was_folder = errno == EISDIR;
  if (was_folder && ::unlinkat(folder, spot.name.c_str(), AT_REMOVEDIR) == 0 &&
      rename()) {
    return Status::OK();
  }
  Status status = ErrnoStatus(errno, "make the link " + path_ + "/" + path);
  ::unlinkat(folder, temp.c_str(), 0);
  if (!was_folder) return status;
  return Status::Invalid(path_ + "/" + path +
                         " is a folder here and a link at the source; remove it or pull "
                         "to another place");
}

// In the folder of the file itself: renaming between folders takes turns on one lock of
// the whole file system.
std::string PulledTree::TempName(const std::string& name) {
  size_t slash = name.rfind('/');
  std::string folder = slash == name.npos ? "" : name.substr(0, slash + 1);
  return fmt::format("{}{}-{}", folder, mark_, next_temp_++);
}

// A file that says which temporary names are of this process, locked while it lives.
Status PulledTree::MakeMark() {
  FB_RETURN_NOT_OK(SweepDead());
  mark_ = fmt::format("{}-{}-{}", kMemory, ::getpid(), Clock::Real().WallNanos());
  auto made = Create(mark_);
  if (!made.ok()) return made.status().WithContext(path_ + " cannot be written");
  mark_fd_ = *std::move(made);
  (void)::flock(mark_fd_.get(), LOCK_EX);  // another pull may look at it just now
  return WriteAll(mark_fd_.get(), kMarkText, path_ + "/" + mark_);
}

// What pulls that died left behind.
Status PulledTree::SweepDead() {
  namespace fs = std::filesystem;
  std::error_code error;
  for (fs::directory_iterator it(path_, error), end; !error && it != end;
       it.increment(error)) {
    std::string mark = it->path().filename().string();
    if (!IsMark(mark)) continue;
    UniqueFd fd(OpenBelow(folder_.get(), mark, O_RDWR | O_NONBLOCK));
    if (!fd.valid() || ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) continue;
    if (!BeginsWith(fd.get(), kMarkText)) continue;
    for (fs::recursive_directory_iterator below(path_, error), last;
         !error && below != last; below.increment(error)) {
      std::error_code ignored;
      bool is_temp = below->path().filename().string().starts_with(mark + "-");
      if (is_temp) fs::remove(below->path(), ignored);
    }
    if (!error) ::unlinkat(folder_.get(), mark.c_str(), 0);
  }
  return Status::OK();
}

PulledTree::~PulledTree() {
  if (mark_fd_.valid()) ::unlinkat(folder_.get(), mark_.c_str(), 0);
}

Result<UniqueFd> PulledTree::Create(const std::string& name) const {
  UniqueFd fd(OpenBelow(folder_.get(), name, O_WRONLY | O_CREAT | O_EXCL));
  if (!fd.valid()) return ErrnoStatus(errno, "make " + path_ + "/" + name);
  return fd;
}

Status PulledTree::Finish(int fd, uint32_t file, const std::string& temp,
                          const std::string& name) {
  FB_RETURN_NOT_OK(SetFileTime(fd, files_->manifest()->files()[file].mtime_ns, name));
  if (::renameat(folder_.get(), temp.c_str(), folder_.get(), name.c_str()) == 0) {
    return Status::OK();
  }
  return ErrnoStatus(errno, "write " + path_ + "/" + name);
}

Status PulledTree::WriteBy(uint32_t file, const std::function<Status(int fd)>& write) {
  std::string name = files_->manifest()->FilePath(file);
  std::string temp = TempName(name);
  FB_ASSIGN_OR_RETURN(UniqueFd fd, Create(temp));
  Status status = write(fd.get());
  if (status.ok()) status = Finish(fd.get(), file, temp, name);
  if (status.ok()) return status;
  ::unlinkat(folder_.get(), temp.c_str(), 0);
  return status.WithContext(name);
}

Status PulledTree::Write(uint32_t file, std::string_view bytes) {
  return WriteBy(file, [&](int fd) { return WriteAll(fd, bytes, path_); });
}

Status PulledTree::Copy(uint32_t file) {
  return WriteBy(file, [&](int fd) { return CopyOut(*files_, file, fd); });
}

Status PulledTree::CopyFrom(uint32_t file, const std::string& path) {
  return WriteBy(file, [&](int fd) { return CopyFile(path, fd); });
}

Status PulledTree::Remember() {
  std::string temp = TempName(kMemory);
  FB_ASSIGN_OR_RETURN(UniqueFd fd, Create(temp));
  Status status = WriteAll(fd.get(), files_->manifest()->bytes(), path_ + "/" + temp);
  if (status.ok() &&
      ::renameat(folder_.get(), temp.c_str(), folder_.get(), kMemory) != 0) {
    status = ErrnoStatus(errno, "write " + path_ + "/" + kMemory);
  }
  if (!status.ok()) ::unlinkat(folder_.get(), temp.c_str(), 0);
  return status;
}

}  // namespace forebay::cli
