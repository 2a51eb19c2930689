#include "model/any_manifest.h"

#include "model/files_format.h"

namespace forebay::model {

Result<AnyManifest> AnyManifest::View(std::string_view bytes,
                                      std::shared_ptr<const void> owner) {
  AnyManifest out;
  if (bytes.starts_with(std::string_view(files_format::kMagic, 8))) {
    FB_ASSIGN_OR_RETURN(out.files_, FilesManifest::View(bytes, std::move(owner)));
  } else {
    FB_ASSIGN_OR_RETURN(out.table_, Manifest::View(bytes, std::move(owner)));
  }
  return out;
}

const Hash128& AnyManifest::version() const {
  return table_ != nullptr ? table_->version() : files_->version();
}

std::string_view AnyManifest::bytes() const {
  return table_ != nullptr ? table_->bytes() : files_->bytes();
}

std::shared_ptr<const void> AnyManifest::owner() const {
  if (table_ != nullptr) return table_;
  return files_;
}

uint64_t AnyManifest::row_count() const {
  if (table_ != nullptr) return table_->row_count();
  uint64_t count = 0;
  for (const FileRecord& file : files_->files()) count += file.size > 0 ? 1 : 0;
  return count;
}

uint64_t AnyManifest::object_count() const {
  return table_ != nullptr ? table_->objects().size() : files_->files().size();
}

uint64_t AnyManifest::unit_count() const {
  if (table_ != nullptr) return table_->units().size();
  uint64_t count = 0;
  EachChunk(*files_, [&](ChunkRef) { return ++count > 0; });
  return count;
}

}  // namespace forebay::model
