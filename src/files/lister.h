// Lists a source into files. What was listed stays when time is up: the next Run goes on
// from there.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "files/build_manifest.h"
#include "files/file_list.h"
#include "files/page_lister.h"
#include "source/source.h"

namespace forebay::files {

class Lister {
 public:
  // `uri` is a folder, a prefix or one object.
  Lister(std::shared_ptr<source::Source> source, std::string uri);

  // kNotFound when nothing is there; kDeadline or kUnavailable leave it ready to go on.
  Status Run(Deadline deadline);
  // After a successful Run; nothing after it.
  std::string BuildManifest();

 private:
  Status RunPages(Deadline deadline);
  Status RunAtOnce(Deadline deadline);
  void AddObject(const model::Object& object);
  void TakeOne(const model::Object& object);
  std::string_view PathOf(std::string_view uri) const;

  std::shared_ptr<source::Source> source_;
  std::string uri_;
  std::string root_;  // of paths: uri_, or the folder of one object
  FileList list_;
  std::unique_ptr<PageLister> pages_;
};

}  // namespace forebay::files
