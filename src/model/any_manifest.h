// The manifest of a version, whatever it is a version of: a table, or a tree of files.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "model/files_manifest.h"
#include "model/manifest.h"

namespace forebay::model {

class AnyManifest {
 public:
  explicit AnyManifest(std::shared_ptr<const Manifest> table)
      : table_(std::move(table)) {}
  // As the View of either.
  static Result<AnyManifest> View(std::string_view bytes,
                                  std::shared_ptr<const void> owner);

  // One of them is null.
  const std::shared_ptr<const Manifest>& table() const { return table_; }
  const std::shared_ptr<const FilesManifest>& files() const { return files_; }

  const Hash128& version() const;
  std::string_view bytes() const;
  std::shared_ptr<const void> owner() const;  // of the bytes
  uint64_t row_count() const;                 // or files that are not empty
  uint64_t object_count() const;              // that the source has
  // What is placed on nodes: units of a table, chunks of a tree.
  uint64_t unit_count() const;

 private:
  AnyManifest() = default;
  std::shared_ptr<const Manifest> table_;
  std::shared_ptr<const FilesManifest> files_;
};

}  // namespace forebay::model
