#include "table/live/live_marks.h"

#include <fmt/format.h>

#include "base/size.h"

namespace forebay::table::live {

Status LiveMarks::Add(std::string_view file, uint64_t rows) {
  if (rows > kFileRowsMax) {
    return Status::Corrupt(
        fmt::format("{} claims to have {} rows, and no file has more than {}", file, rows,
                    kFileRowsMax));
  }
  uint64_t bytes = BytesOf(rows);
  uint64_t used = used_bytes_.fetch_add(bytes) + bytes;
  if (used <= bytes_max_) return Status::OK();
  used_bytes_ -= bytes;
  return Status::Full(fmt::format(
      "{} claims to have {} rows; to mark those that live takes {}, and other files of "
      "the table have {} of {}",
      file, rows, FormatSize(bytes), FormatSize(used - bytes), FormatSize(bytes_max_)));
}

}  // namespace forebay::table::live
