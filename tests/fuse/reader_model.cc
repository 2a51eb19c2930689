// A read-only fsx: threads read files of a mount in every way there is, at random places,
// and compare with the same files of a plain folder. Runs until its standard input ends,
// then prints one JSON object.
//
//   reader_model MOUNT MODEL [threads=8] [seed=1] [longest=262144] [forget=0.5]
//
// `forget` is how often the kernel is told to drop what it has of a file, so that the
// next read asks whoever serves the mount.
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace fs = std::filesystem;
constexpr size_t kBlock = 4096;

struct Settings {
  std::string mount;
  std::string model;
  int threads = 8;
  uint64_t seed = 1;
  size_t longest = 262144;
  double forget = 0.5;
};

struct File {
  std::string name;
  uint64_t size;
};

Settings settings;
std::vector<File> files;
std::map<std::string, size_t> folders;  // and how many names are in each
std::atomic<bool> stopping{false};
std::atomic<uint64_t> operations{0};
std::atomic<uint64_t> bytes_read{0};
std::atomic<int64_t> longest_us{0};
std::mutex mutex;
std::map<std::string, int> errors;  // under `mutex`
thread_local sigjmp_buf on_bus_error;

void Complain(const std::string& what) {
  std::lock_guard lock(mutex);
  ++errors[what];
}

struct Fd {
  explicit Fd(int number) : fd(number) {}
  ~Fd() {
    if (fd >= 0) ::close(fd);
  }
  Fd(const Fd&) = delete;
  int fd;
};

// Blocks of a kind that O_DIRECT takes.
struct Buffer {
  explicit Buffer(size_t size) : data(std::aligned_alloc(kBlock, size)) {}
  ~Buffer() { std::free(data); }
  Buffer(const Buffer&) = delete;
  char* bytes() { return static_cast<char*>(data); }
  void* data;
};

class Reader {
 public:
  explicit Reader(int number)
      : random_(settings.seed * 1000 + static_cast<uint64_t>(number)),
        got_(settings.longest + 2 * kBlock),
        wanted_(settings.longest + 2 * kBlock) {}

  void Run() {
    while (!stopping) {
      const File& file = files[Below(files.size())];
      auto start = std::chrono::steady_clock::now();
      Operate(file);
      auto took = std::chrono::steady_clock::now() - start;
      int64_t us = std::chrono::duration_cast<std::chrono::microseconds>(took).count();
      int64_t before = longest_us;
      while (us > before && !longest_us.compare_exchange_weak(before, us)) {
      }
      ++operations;
    }
  }

 private:
  uint64_t Below(uint64_t end) { return end == 0 ? 0 : random_() % end; }
  bool Chance(double probability) {
    return std::uniform_real_distribution<>()(random_) < probability;
  }

  void Operate(const File& file) {
    what_ = file.name;
    switch (Below(10)) {
      case 0: return Look(file);
      case 1: return ListFolder();
      case 2: return Direct(file);
      case 3:
      case 4: return Map(file);
      case 5: return Vectored(file);
      case 6: return Send(file);
      case 7: return Sequential(file);
      default: return Positioned(file);
    }
  }

  bool Failed(ssize_t result, const char* how) {
    if (result >= 0) return false;
    Complain(std::string(how) + ": " + std::strerror(errno));
    return true;
  }

  Fd Open(const File& file, int flags = 0) {
    int fd = ::open((settings.mount + "/" + file.name).c_str(), O_RDONLY | flags);
    Failed(fd, "open");
    if (fd >= 0 && Chance(settings.forget))
      ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    return Fd(fd);
  }

  // A place in the file, or now and then beyond its end.
  void Choose(const File& file, uint64_t* offset, size_t* size) {
    *offset = Below(file.size + (Chance(0.05) ? 3 * kBlock : 0));
    *size = 1 + Below(Chance(0.5) ? 5000 : settings.longest);
  }

  void Compare(const File& file, uint64_t offset, size_t asked, ssize_t got,
               const char* how) {
    if (Failed(got, how)) return;
    uint64_t left = offset < file.size ? file.size - offset : 0;
    size_t expected = std::min<uint64_t>(asked, left);
    if (static_cast<size_t>(got) != expected) {
      return Complain(std::string(how) + ": " + std::to_string(got) +
                      " bytes instead of " + std::to_string(expected) + " of " +
                      file.name);
    }
    Fd model(::open((settings.model + "/" + file.name).c_str(), O_RDONLY));
    ssize_t n = ::pread(model.fd, wanted_.bytes(), expected, static_cast<off_t>(offset));
    if (n != got || std::memcmp(got_.bytes(), wanted_.bytes(), expected) != 0) {
      Complain(std::string(how) + ": wrong bytes of " + file.name);
    }
    bytes_read += expected;
  }

  void Positioned(const File& file) {
    Fd fd = Open(file);
    if (fd.fd < 0) return;
    uint64_t offset;
    size_t size;
    for (int i = 0; i < 4; ++i) {
      Choose(file, &offset, &size);
      ssize_t n = ::pread(fd.fd, got_.bytes(), size, static_cast<off_t>(offset));
      Compare(file, offset, size, n, "pread");
    }
  }

  void Vectored(const File& file) {
    Fd fd = Open(file);
    if (fd.fd < 0) return;
    uint64_t offset;
    size_t size;
    Choose(file, &offset, &size);
    size_t first = size / 3;
    iovec parts[2] = {{got_.bytes(), first}, {got_.bytes() + first, size - first}};
    ssize_t n = ::preadv(fd.fd, parts, 2, static_cast<off_t>(offset));
    Compare(file, offset, size, n, "preadv");
  }

  void Direct(const File& file) {
    Fd fd = Open(file, O_DIRECT);
    if (fd.fd < 0) return;
    uint64_t offset = Below(file.size) / kBlock * kBlock;
    size_t size = (1 + Below(settings.longest / kBlock)) * kBlock;
    ssize_t n = ::pread(fd.fd, got_.bytes(), size, static_cast<off_t>(offset));
    Compare(file, offset, size, n, "direct read");
  }

  void Sequential(const File& file) {
    Fd fd = Open(file);
    size_t size = 1 + Below(settings.longest);
    uint64_t offset = 0;
    for (int i = 0; fd.fd >= 0 && i < 8 && offset < file.size; ++i) {
      ssize_t n = ::read(fd.fd, got_.bytes(), size);
      Compare(file, offset, size, n, "read");
      if (n <= 0) return;
      offset += static_cast<uint64_t>(n);
    }
  }

  void Send(const File& file) {
    Fd fd = Open(file);
    if (fd.fd < 0) return;
    Fd to(::memfd_create("sent", 0));
    uint64_t offset;
    size_t size;
    Choose(file, &offset, &size);
    auto at = static_cast<off_t>(offset);
    ssize_t sent = 0;
    while (static_cast<size_t>(sent) < size) {
      ssize_t n = ::sendfile(to.fd, fd.fd, &at, size - static_cast<size_t>(sent));
      if (Failed(n, "sendfile") || n == 0) break;
      sent += n;
    }
    Failed(::pread(to.fd, got_.bytes(), static_cast<size_t>(sent), 0), "memfd");
    Compare(file, offset, size, sent, "sendfile");
  }

  bool CopyMapped(const char* from, size_t size) {
    if (sigsetjmp(on_bus_error, 1) != 0) return false;
    std::memcpy(got_.bytes(), from, size);
    return true;
  }

  void Map(const File& file) {
    if (file.size == 0) return;
    Fd fd = Open(file);
    if (fd.fd < 0) return;
    int kind = Chance(0.5) ? MAP_SHARED : MAP_PRIVATE;
    void* at = ::mmap(nullptr, file.size, PROT_READ, kind, fd.fd, 0);
    if (at == MAP_FAILED) return Complain(std::string("mmap: ") + std::strerror(errno));
    for (int i = 0; i < 4; ++i) {
      uint64_t offset = Below(file.size);
      size_t size = std::min<uint64_t>(1 + Below(settings.longest), file.size - offset);
      if (!CopyMapped(static_cast<char*>(at) + offset, size)) {
        Complain("SIGBUS in a mapping of " + file.name);
        break;
      }
      Compare(file, offset, size, static_cast<ssize_t>(size), "mmap");
      if (Chance(settings.forget)) ::madvise(at, file.size, MADV_DONTNEED);
    }
    ::munmap(at, file.size);
  }

  void Look(const File& file) {
    struct stat st {};
    if (Failed(::stat((settings.mount + "/" + file.name).c_str(), &st), "stat")) return;
    if (static_cast<uint64_t>(st.st_size) != file.size) Complain("stat: a wrong size");
    if (!S_ISREG(st.st_mode)) Complain("stat: not a file");
  }

  void ListFolder() {
    auto folder = folders.begin();
    std::advance(folder, static_cast<long>(Below(folders.size())));
    DIR* listing = ::opendir((settings.mount + "/" + folder->first).c_str());
    if (listing == nullptr) {
      Failed(-1, "opendir");
      return;
    }
    size_t names = 0;
    errno = 0;
    while (dirent* entry = ::readdir(listing)) {
      names +=
          std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0;
    }
    if (errno != 0) Failed(-1, "readdir");
    if (names != folder->second) Complain("readdir: wrong names in " + folder->first);
    ::closedir(listing);
  }

  std::mt19937_64 random_;
  Buffer got_;
  Buffer wanted_;
  std::string what_;
};

void FindFiles() {
  folders[""] = 0;
  for (const auto& entry : fs::recursive_directory_iterator(settings.model)) {
    std::string name = entry.path().lexically_relative(settings.model).string();
    std::string parent = entry.path().parent_path().lexically_relative(settings.model);
    ++folders[parent == "." ? "" : parent];
    if (entry.is_directory()) folders[name] += 0;
    if (entry.is_regular_file()) files.push_back({name, entry.file_size()});
  }
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.name < b.name; });
}

void Report() {
  std::printf(
      "{\"operations\": %llu, \"bytes\": %llu, \"longest_s\": %.3f, \"errors\": {",
      static_cast<unsigned long long>(operations),
      static_cast<unsigned long long>(bytes_read), static_cast<double>(longest_us) / 1e6);
  const char* between = "";
  for (const auto& [what, count] : errors) {
    std::printf("%s\"%s\": %d", between, what.c_str(), count);
    between = ", ";
  }
  std::printf("}}\n");
}

void Take(const char* argument) {
  const char* value = std::strchr(argument, '=');
  std::string name(argument, value == nullptr ? argument : value);
  if (value == nullptr) std::exit(2);
  ++value;
  if (name == "threads") settings.threads = std::atoi(value);
  if (name == "seed") settings.seed = std::strtoull(value, nullptr, 10);
  if (name == "longest") settings.longest = std::strtoull(value, nullptr, 10);
  if (name == "forget") settings.forget = std::atof(value);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  settings.mount = arguments[1];
  settings.model = arguments[2];
  for (int i = 3; i < count; ++i) Take(arguments[i]);
  std::signal(SIGBUS, [](int) { siglongjmp(on_bus_error, 1); });
  FindFiles();
  if (files.empty()) return 3;
  std::vector<std::thread> threads;
  for (int i = 0; i < settings.threads; ++i) {
    threads.emplace_back([i] { Reader(i).Run(); });
  }
  std::printf("ready\n");
  std::fflush(stdout);
  char byte;
  while (::read(0, &byte, 1) > 0) {
  }
  stopping = true;
  for (std::thread& thread : threads) thread.join();
  Report();
}
