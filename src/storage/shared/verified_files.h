// What this host has verified of shared directories, in files of the user's cache.
// Bounded by how it is made: a file for each of some buckets, with so many lines in each;
// the newest stay. What is forgotten is read once more, nothing else. Thread-safe, and
// safe with any number of processes.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace forebay::storage {

class VerifiedFiles {
 public:
  struct Options {
    std::string folder;        // empty: nothing is remembered
    size_t bucket_digits = 3;  // 16^3 files
    // Of 66 bytes: a bucket is a block of a file system, all of them 16 MiB.
    size_t lines_max = 62;
    // How long Remember waits for other processes before it gives the line up.
    std::chrono::milliseconds lock_wait{100};
  };
  explicit VerifiedFiles(Options options) : options_(std::move(options)) {}

  // Whether the file at `path` was verified in this state: inode, size, time.
  bool Has(std::string_view path, std::string_view state) const;
  void Remember(std::string_view path, std::string_view state) const;

 private:
  std::string BucketOf(std::string_view path) const;

  const Options options_;
};

}  // namespace forebay::storage
