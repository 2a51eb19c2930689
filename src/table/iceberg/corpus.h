// Finds the corpora beside this checkout, for tests.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/status.h"
#include "table/iceberg/locations.h"

namespace forebay::table::iceberg {

// The unpacked archive, or an empty path where it is not there.
inline std::filesystem::path UnpackedCorpus(const std::string& name) {
  namespace fs = std::filesystem;
  fs::path archive = fs::path(FOREBAY_ROOT) / "../shared/corpora" / (name + ".tar.zst");
  if (!fs::exists(archive)) return {};
  fs::path folder = fs::path(FOREBAY_BIN_DIR) / ("corpus-" + name);
  if (!fs::exists(folder / "unpacked")) {
    fs::create_directories(folder);
    std::string command =
        fmt::format("tar --zstd -xf '{}' -C '{}'", archive.lexically_normal().string(),
                    folder.string());
    if (std::system(command.c_str()) != 0) return {};
    std::ofstream(folder / "unpacked") << "yes\n";
  }
  return folder;
}

inline std::string Slurp(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

// Reads local files by the paths that metadata has.
inline Result<std::string> ReadLocated(const Locations& locations,
                                       const std::string& path) {
  FB_ASSIGN_OR_RETURN(std::string uri, locations.Resolve(path));
  std::filesystem::path file = uri.substr(std::string("file://").size());
  if (!std::filesystem::exists(file)) return Status::NotFound("no such file: " + uri);
  return Slurp(file);
}

inline std::vector<std::filesystem::path> FilesUnder(const std::filesystem::path& folder,
                                                     const std::string& ending) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().string().ends_with(ending)) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace forebay::table::iceberg
