// A file system for tests that behaves as a file server on a bad day: it passes
// everything through to a folder, but each mount (a "host") remembers attributes, names
// and listings for a while, locks succeed without excluding anybody, operations that were
// done answer as if they were repeated, and handles go stale.
//
//   lying_fs FOLDER MOUNTPOINT [locks=lie] [stale=SECONDS] [estale=P] [repeat=P] [seed=N]
//
// P are probabilities. Runs in the foreground until it is unmounted.
#define FUSE_USE_VERSION 31
#include <dirent.h>
#include <fcntl.h>
#include <fuse.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <string>

namespace {

struct Behaviour {
  std::string folder;
  bool locks_lie = false;
  double stale_seconds = 0;
  double estale = 0;
  double repeat = 0;
};
Behaviour behaviour;
std::mutex mutex;
std::mt19937_64 generator;  // under `mutex`

bool Chance(double probability) {
  if (probability <= 0) return false;
  std::lock_guard lock(mutex);
  return std::uniform_real_distribution<>()(generator) < probability;
}

std::string At(const char* path) { return behaviour.folder + path; }
int Answer(int result) { return result < 0 ? -errno : 0; }
bool Stale() { return Chance(behaviour.estale); }

// What a client hears whose first try was done and whose answer was lost.
int Repeated(int result, int error) {
  if (result < 0) return -errno;
  return Chance(behaviour.repeat) ? -error : 0;
}

int Handle(fuse_file_info* info) { return static_cast<int>(info->fh); }

void* Init(fuse_conn_info*, fuse_config* config) {
  config->entry_timeout = behaviour.stale_seconds;
  config->attr_timeout = behaviour.stale_seconds;
  config->negative_timeout = behaviour.stale_seconds;
  config->use_ino = 1;
  config->hard_remove = 1;
  config->nullpath_ok = 0;
  return nullptr;
}

int GetAttributes(const char* path, struct stat* st, fuse_file_info* info) {
  if (Stale()) return -ESTALE;
  if (info != nullptr) return Answer(::fstat(Handle(info), st));
  return Answer(::lstat(At(path).c_str(), st));
}

int OpenFolder(const char*, fuse_file_info* info) {
  if (Stale()) return -ESTALE;
  // The kernel keeps the listing until it sees another time of the folder.
  info->cache_readdir = 1;
  info->keep_cache = 1;
  return 0;
}

int ReadFolder(const char* path, void* buffer, fuse_fill_dir_t fill, off_t,
               fuse_file_info*, fuse_readdir_flags) {
  if (Stale()) return -ESTALE;
  DIR* folder = ::opendir(At(path).c_str());
  if (folder == nullptr) return -errno;
  while (dirent* entry = ::readdir(folder)) {
    struct stat st {};
    st.st_ino = entry->d_ino;
    st.st_mode = static_cast<mode_t>(DTTOIF(entry->d_type));
    fill(buffer, entry->d_name, &st, 0, static_cast<fuse_fill_dir_flags>(0));
  }
  ::closedir(folder);
  return 0;
}

int Open(const char* path, fuse_file_info* info) {
  if (Stale()) return -ESTALE;
  int fd = ::open(At(path).c_str(), info->flags | O_CLOEXEC);
  if (fd < 0) return -errno;
  info->fh = static_cast<uint64_t>(fd);
  return 0;
}

int Create(const char* path, mode_t mode, fuse_file_info* info) {
  if (Stale()) return -ESTALE;
  int fd = ::open(At(path).c_str(), info->flags | O_CREAT | O_CLOEXEC, mode);
  if (fd < 0) return -errno;
  info->fh = static_cast<uint64_t>(fd);
  return 0;
}

int Read(const char*, char* buffer, size_t size, off_t offset, fuse_file_info* info) {
  if (Stale()) return -ESTALE;
  ssize_t n = ::pread(Handle(info), buffer, size, offset);
  return n < 0 ? -errno : static_cast<int>(n);
}

int Write(const char*, const char* buffer, size_t size, off_t at, fuse_file_info* info) {
  if (Stale()) return -ESTALE;
  ssize_t n = ::pwrite(Handle(info), buffer, size, at);
  return n < 0 ? -errno : static_cast<int>(n);
}

int Sync(const char*, int, fuse_file_info* info) {
  if (Stale()) return -ESTALE;
  return Answer(::fsync(Handle(info)));
}

int Release(const char*, fuse_file_info* info) {
  ::close(Handle(info));
  return 0;
}

int Lock(const char*, fuse_file_info* info, int how) {
  return behaviour.locks_lie ? 0 : Answer(::flock(Handle(info), how));
}

int Rename(const char* from, const char* to, unsigned flags) {
  if (flags != 0) return -EINVAL;
  return Repeated(::rename(At(from).c_str(), At(to).c_str()), ENOENT);
}
int MakeFolder(const char* path, mode_t mode) {
  return Repeated(::mkdir(At(path).c_str(), mode), EEXIST);
}
int Unlink(const char* path) { return Repeated(::unlink(At(path).c_str()), ENOENT); }
int RemoveFolder(const char* path) { return Repeated(::rmdir(At(path).c_str()), ENOENT); }

int Truncate(const char* path, off_t size, fuse_file_info*) {
  return Answer(::truncate(At(path).c_str(), size));
}
int ChangeMode(const char* path, mode_t mode, fuse_file_info*) {
  return Answer(::chmod(At(path).c_str(), mode));
}
int ChangeTimes(const char* path, const timespec times[2], fuse_file_info*) {
  return Answer(::utimensat(AT_FDCWD, At(path).c_str(), times, AT_SYMLINK_NOFOLLOW));
}
int Access(const char* path, int mode) {
  return Answer(::access(At(path).c_str(), mode));
}
int Statistics(const char* path, struct statvfs* st) {
  return Answer(::statvfs(At(path).c_str(), st));
}

fuse_operations Operations() {
  fuse_operations operations{};
  operations.init = Init;
  operations.getattr = GetAttributes;
  operations.opendir = OpenFolder;
  operations.readdir = ReadFolder;
  operations.open = Open;
  operations.create = Create;
  operations.read = Read;
  operations.write = Write;
  operations.fsync = Sync;
  operations.release = Release;
  operations.flock = Lock;
  operations.rename = Rename;
  operations.mkdir = MakeFolder;
  operations.unlink = Unlink;
  operations.rmdir = RemoveFolder;
  operations.truncate = Truncate;
  operations.chmod = ChangeMode;
  operations.utimens = ChangeTimes;
  operations.access = Access;
  operations.statfs = Statistics;
  return operations;
}

// False when it is not an option.
bool Take(const char* argument) {
  const char* value = std::strchr(argument, '=');
  if (value == nullptr) return false;
  std::string name(argument, value++);
  if (name == "locks") behaviour.locks_lie = std::strcmp(value, "lie") == 0;
  if (name == "stale") behaviour.stale_seconds = std::atof(value);
  if (name == "estale") behaviour.estale = std::atof(value);
  if (name == "repeat") behaviour.repeat = std::atof(value);
  if (name == "seed") generator.seed(std::strtoull(value, nullptr, 10));
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  behaviour.folder = arguments[1];
  for (int i = 3; i < count; ++i) {
    if (!Take(arguments[i])) return 2;
  }
  ::umask(0);
  const char* options[] = {arguments[0], arguments[2], "-f", "-o",
                           "default_permissions,allow_other,max_threads=16"};
  fuse_operations operations = Operations();
  return fuse_main(5, const_cast<char**>(options), &operations, nullptr);
}
