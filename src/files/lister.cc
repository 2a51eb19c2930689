#include "files/lister.h"

#include "base/uri.h"
#include "source/identity.h"

namespace forebay::files {

Lister::Lister(std::shared_ptr<source::Source> source, std::string uri)
    : source_(std::move(source)), uri_(std::move(uri)) {}

Status Lister::Run(Deadline deadline) {
  FB_ASSIGN_OR_RETURN(Uri parsed, Uri::Parse(uri_));
  while (parsed.path.ends_with('/')) parsed.path.pop_back();
  root_ = parsed.ToString();
  return source_->pages() ? RunPages(deadline) : RunAtOnce(deadline);
}

Status Lister::RunAtOnce(Deadline deadline) {
  list_ = FileList();
  FB_ASSIGN_OR_RETURN(auto tree, source_->ListTree(uri_, deadline));
  FB_RETURN_NOT_OK(source::WaitUntilSettled(tree.objects, Clock::Real(), deadline));
  if (tree.objects.size() == 1 && tree.objects[0].uri == root_) {
    TakeOne(tree.objects[0]);
    return Status::OK();
  }
  for (const model::Object& object : tree.objects) AddObject(object);
  for (const source::Link& link : tree.links) {
    list_.AddLink(PathOf(link.uri), link.target, link.mtime_ns);
  }
  for (const std::string& folder : tree.empty_folders) list_.AddFolder(PathOf(folder));
  return Status::OK();
}

Status Lister::RunPages(Deadline deadline) {
  if (pages_ == nullptr) {
    auto add = [this](const model::Object& object) { AddObject(object); };
    pages_ = std::make_unique<PageLister>(PageLister::Options{
        .source = source_.get(), .folder = root_ + "/", .on_object = add});
  }
  FB_RETURN_NOT_OK(pages_->Run(deadline));
  if (list_.size() + list_.left_out_count() > 0) return Status::OK();
  auto itself = source_->Stat(uri_, deadline);
  if (itself.ok()) {
    TakeOne(*itself);
    return Status::OK();
  }
  if (itself.status().code() != StatusCode::kNotFound) return itself.status();
  return Status::NotFound("no object is at or below " + RedactUri(uri_));
}

// The tree is then the folder it is in, and it the only file.
void Lister::TakeOne(const model::Object& object) {
  root_.resize(root_.rfind('/'));
  AddObject(object);
}

void Lister::AddObject(const model::Object& object) {
  std::string_view uri = object.uri;
  // An object beside the folder of its own name.
  if (!uri.starts_with(root_) || uri.size() <= root_.size()) {
    return list_.LeaveOut(uri, "there are objects below it, so it is a folder here");
  }
  list_.Add(PathOf(uri), object.identity);
}

std::string_view Lister::PathOf(std::string_view uri) const {
  return uri.size() > root_.size() ? uri.substr(root_.size() + 1) : std::string_view();
}

std::string Lister::BuildManifest() {
  return BuildFilesManifest({.root = root_, .origin = source_->origin()},
                            std::move(list_));
}

}  // namespace forebay::files
