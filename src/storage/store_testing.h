// What the store's tests share. Included by *_test.cc only.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "storage/store.h"
#include "storage/temp_name.h"

namespace forebay::storage {

namespace fs = std::filesystem;

class TempDir {
 public:
  TempDir() {
    std::string name = (fs::temp_directory_path() / "forebay-store-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TempDir() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string path() const { return path_.string(); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

inline Hash128 KeyOf(uint64_t number) {
  return HashBytes("key " + std::to_string(number));
}

// The only right bytes of a key, so that any process can check what it is served.
inline std::string BytesOf(const Hash128& key, size_t size) {
  std::string bytes(size, '\0');
  std::mt19937_64 random(key.low);
  for (size_t at = 0; at < size; at += 8) {
    uint64_t word = random();
    std::memcpy(bytes.data() + at, &word, std::min<size_t>(8, size - at));
  }
  return bytes;
}

inline std::string ReadAll(const Chunk& chunk) {
  std::string bytes(chunk.size + 1, '\0');
  ssize_t got = pread(chunk.fd->get(), bytes.data(), bytes.size(), 0);
  bytes.resize(got < 0 ? 0 : static_cast<size_t>(got));
  return bytes;
}

inline Result<Chunk> Put(Store& store, const Hash128& key, const std::string& bytes) {
  FB_ASSIGN_OR_RETURN(auto writer,
                      store.Create(key, model::ChunkKind::kTable, bytes.size()));
  FB_RETURN_NOT_OK(writer->Append(bytes.data(), bytes.size()));
  return writer->Commit();
}

inline Result<Chunk> Put(Store& store, uint64_t number, size_t size) {
  return Put(store, KeyOf(number), BytesOf(KeyOf(number), size));
}

inline TierOptions DirectoryOptions(const std::string& path, uint64_t quota_bytes = 0) {
  TierOptions tier;
  tier.spec = {.medium = model::Medium::kSsd, .path = path, .quota_bytes = quota_bytes};
  tier.free_floor_bytes = 0;
  tier.durable = false;  // what is durable has tests of its own
  return tier;
}

inline TierOptions MemoryOptions(uint64_t quota_bytes) {
  TierOptions tier;
  tier.spec = {.medium = model::Medium::kMem, .path = "", .quota_bytes = quota_bytes};
  return tier;
}

inline StoreOptions OptionsOf(std::vector<TierOptions> tiers,
                              const Clock* clock = &Clock::Real()) {
  StoreOptions options;
  options.tiers = std::move(tiers);
  options.clock = clock;
  return options;
}

inline std::unique_ptr<Store> OpenOrDie(StoreOptions options) {
  auto store = Store::Open(std::move(options));
  if (!store.ok()) {
    ADD_FAILURE() << store.status();
    std::abort();
  }
  return *std::move(store);
}

inline std::vector<std::string> FilesUnder(const std::string& path) {
  std::vector<std::string> files;
  if (!fs::exists(path)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (!entry.is_directory()) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

inline uint64_t BytesUnder(const std::string& path) {
  uint64_t bytes = 0;
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(path, error);
       it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code gone;  // others may unlink while we look
    uint64_t size = it->is_regular_file(gone) ? it->file_size(gone) : 0;
    if (!gone) bytes += size;
  }
  return bytes;
}

inline std::string FileOf(const std::string& store, const Hash128& key) {
  for (const std::string& file : FilesUnder(store + "/chunks")) {
    if (fs::path(file).filename().string().starts_with(key.ToHex())) return file;
  }
  return "";
}

inline std::string Slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline void Spit(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// The process's limit of descriptors, until this ends.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t limit) {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit lower{.rlim_cur = limit, .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &lower), 0);
  }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

// Different on every run; FOREBAY_SEED repeats one.
inline uint64_t TestSeed() {
  const char* given = std::getenv("FOREBAY_SEED");
  uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::printf("FOREBAY_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

}  // namespace forebay::storage
