// A file mapped or copied into memory, which is freed when the last owner lets go.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "base/status.h"

namespace forebay {

class Mapping {
 public:
  enum class Mode {
    kShared,   // read-only pages, shared by all processes that map the file
    kPrivate,  // writable pages: what is written stays in this process, in this mapping
    kCopy,     // writable pages of this process; the file's own are not kept in memory
  };

  // The descriptor may be closed afterwards. `size` must not be past the end of the file.
  static Result<std::shared_ptr<const Mapping>> Map(int fd, size_t size, Mode mode);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  std::string_view bytes() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  Mapping(std::byte* data, size_t size) : data_(data), size_(size) {}
  static Result<std::shared_ptr<const Mapping>> Copy(int fd, size_t size);

  std::byte* data_;
  size_t size_;
};

}  // namespace forebay
