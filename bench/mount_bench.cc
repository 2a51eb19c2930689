// Reads files in one of a few ways and prints the seconds it took: the clock starts when
// everything is set up, so that a mount and a native folder can be compared.
//
//   mount_bench sequential FOLDER [direct]  open files, 1 MiB at a time; names on stdin
//   mount_bench files FOLDER                open, read, close; names on stdin
//   mount_bench random FILE COUNT           4 KiB at random places
//   mount_bench ranged FILE THREADS         whole file, 1 MiB at a time, by threads
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr size_t kRead = 1 << 20;
constexpr size_t kBlock = 4096;

char* NewBuffer() { return static_cast<char*>(std::aligned_alloc(kBlock, kRead)); }

[[noreturn]] void Fail(const std::string& what) {
  std::perror(what.c_str());
  std::exit(1);
}

int Open(const std::string& path, int flags = 0) {
  int fd = ::open(path.c_str(), O_RDONLY | flags);
  if (fd < 0) Fail(path);
  return fd;
}

uint64_t SizeOf(int fd) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) Fail("fstat");
  return static_cast<uint64_t>(st.st_size);
}

void Sequential(const std::vector<int>& fds) {
  static char* buffer = NewBuffer();
  for (int fd : fds) {
    ssize_t n = 0;
    while ((n = ::read(fd, buffer, kRead)) > 0) {
    }
    if (n < 0) Fail("read");
  }
}

void Random(int fd, uint64_t size, int count) {
  static char* buffer = NewBuffer();
  std::mt19937_64 random(1);
  for (int i = 0; i < count; ++i) {
    auto at = static_cast<off_t>(random() % (size / kBlock) * kBlock);
    if (::pread(fd, buffer, kBlock, at) != static_cast<ssize_t>(kBlock)) Fail("pread");
  }
}

void Files(const std::vector<std::string>& paths) {
  static char* buffer = NewBuffer();
  for (const std::string& path : paths) {
    int fd = Open(path);
    if (::read(fd, buffer, kRead) < 0) Fail(path);
    ::close(fd);
  }
}

void Ranged(const std::string& path, uint64_t size, uint64_t threads) {
  std::vector<std::thread> running;
  for (uint64_t i = 0; i < threads; ++i) {
    running.emplace_back([&path, size, i, threads] {
      char* buffer = NewBuffer();
      int fd = Open(path);
      uint64_t end = size * (i + 1) / threads;
      for (uint64_t at = size * i / threads; at < end;) {
        ssize_t n = ::pread(fd, buffer, kRead, static_cast<off_t>(at));
        if (n <= 0) Fail("pread");
        at += static_cast<uint64_t>(n);
      }
      ::close(fd);
      std::free(buffer);
    });
  }
  for (std::thread& thread : running) thread.join();
}

std::vector<std::string> PathsBelow(const std::string& folder) {
  std::vector<std::string> paths;
  for (std::string name; std::getline(std::cin, name);) {
    paths.push_back(folder + "/" + name);
  }
  return paths;
}

template <typename Work>
void Time(const Work& work) {
  auto start = std::chrono::steady_clock::now();
  work();
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("%.9f\n", took.count());
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  std::string how = arguments[1];
  std::string path = arguments[2];
  if (how == "sequential") {
    std::vector<int> fds;
    for (const std::string& each : PathsBelow(path)) {
      fds.push_back(Open(each, count > 3 ? O_DIRECT : 0));
    }
    Time([&] { Sequential(fds); });
  } else if (how == "files") {
    std::vector<std::string> paths = PathsBelow(path);
    Time([&] { Files(paths); });
  } else if (how == "random") {
    int fd = Open(path);
    uint64_t size = SizeOf(fd);
    Time([&] { Random(fd, size, std::atoi(arguments[3])); });
  } else if (how == "ranged") {
    uint64_t size = SizeOf(Open(path));
    auto threads = std::strtoull(arguments[3], nullptr, 10);
    Time([&] { Ranged(path, size, threads); });
  } else {
    return 2;
  }
}
