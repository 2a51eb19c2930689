#include "fuse/sources.h"

#include <algorithm>

#include "base/uri.h"
#include "reader/environment/source_environment.h"

namespace forebay::fuse {

// What the process that mounted knows, a successor finds in the same environment.
Result<reader::OpenOptions> Sources::OptionsOf(const SourceSpec& spec) const {
  reader::OpenOptions options = options_.open;
  FB_RETURN_NOT_OK(reader::AddSourceEnvironment(spec.uri, &options.source));
  return options;
}

Status Sources::Open() {
  for (uint32_t i = 0; i < options_.specs.size(); ++i) {
    FB_RETURN_NOT_OK(OpenNext(i).status());
  }
  return Status::OK();
}

Status Sources::Tell(uint32_t source, const Generation& generation, int manifest,
                     int births) {
  std::vector<int> fds = {manifest};
  if (births >= 0) fds.push_back(births);
  Message message{.say = Say::kVersion,
                  .source = source,
                  .generation = generation.number,
                  .size = generation.contents->manifest().bytes().size()};
  return options_.supervisor->Call(message, fds).status();
}

Status Sources::Keep(uint32_t source, std::shared_ptr<reader::RemoteFiles> files,
                     GenerationPtr generation) {
  {
    std::lock_guard lock(mutex_);
    opened_.push_back(std::move(files));
    // Most are old versions that hardly anybody reads from.
    uint64_t bytes = std::max<uint64_t>(options_.mapped_bytes_max / opened_.size(), 1);
    size_t count = std::max<size_t>(reader::RemoteFiles::kMappedMax / opened_.size(), 16);
    for (const auto& each : opened_) each->LimitMapped(bytes, count);
  }
  options_.filesystem->Add(source, std::move(generation));
  return Status::OK();
}

// True when the version is another than the one before.
Result<bool> Sources::OpenNext(uint32_t source) {
  const SourceSpec& spec = options_.specs[source];
  FB_ASSIGN_OR_RETURN(auto options, OptionsOf(spec));
  auto opened = reader::RemoteFiles::Open(spec.uri, options);
  if (!opened.ok()) return opened.status().WithContext(RedactUri(spec.uri));
  auto files = *std::move(opened);
  GenerationPtr before = options_.filesystem->Current(source);
  auto generation = std::make_shared<Generation>();
  generation->contents = std::make_shared<RemoteContents>(files);
  UniqueFd births;
  if (before != nullptr) {
    const model::FilesManifest& old = before->contents->manifest();
    if (old.version() == files->manifest()->version()) return false;
    generation->number = before->number + 1;
    if (generation->number > kGenerationMax) {
      return Status::Full("this mount was refreshed too often: mount it anew");
    }
    Births::Known known{.manifest = &old, .births = &before->births};
    FB_ASSIGN_OR_RETURN(births,
                        Births::Write(known, *files->manifest(), generation->number));
    FB_ASSIGN_OR_RETURN(generation->births,
                        Births::View(births.get(), *files->manifest()));
  }
  FB_RETURN_NOT_OK(Tell(source, *generation, files->pinned()->fd.get(), births.get()));
  FB_RETURN_NOT_OK(Keep(source, std::move(files), std::move(generation)));
  return true;
}

Status Sources::Resume(Letter letter) {
  const Message& message = letter.message;
  if (message.source >= options_.specs.size() || letter.fds.empty()) {
    return Status::Corrupt("the supervisor handed over another mount's version");
  }
  FB_ASSIGN_OR_RETURN(auto mapping, Mapping::Map(letter.fds[0].get(), message.size,
                                                 Mapping::Mode::kShared));
  auto pinned = std::make_shared<reader::PinnedFiles>();
  FB_ASSIGN_OR_RETURN(pinned->manifest,
                      model::FilesManifest::View(mapping->bytes(), mapping));
  pinned->fd = std::move(letter.fds[0]);
  auto generation = std::make_shared<Generation>();
  generation->number = message.generation;
  if (letter.fds.size() > 1) {
    FB_ASSIGN_OR_RETURN(generation->births,
                        Births::View(letter.fds[1].get(), *pinned->manifest));
  }
  const SourceSpec& spec = options_.specs[message.source];
  FB_ASSIGN_OR_RETURN(auto options, OptionsOf(spec));
  FB_ASSIGN_OR_RETURN(auto files,
                      reader::RemoteFiles::Resume(spec.uri, options, std::move(pinned)));
  generation->contents = std::make_shared<RemoteContents>(files);
  return Keep(message.source, std::move(files), std::move(generation));
}

Status Sources::Refresh(std::vector<Refreshed>* out) {
  Status first;
  for (uint32_t i = 0; i < options_.specs.size(); ++i) {
    GenerationPtr before = options_.filesystem->Current(i);
    auto changed = OpenNext(i);
    if (!changed.ok()) {
      if (first.ok()) first = changed.status();
    } else if (*changed) {
      out->push_back({i, before, options_.filesystem->Current(i)});
    }
  }
  return first;
}

std::vector<Sources::Refreshed> Sources::LastSteps() const {
  std::vector<Refreshed> out;
  for (uint32_t i = 0; i < options_.specs.size(); ++i) {
    GenerationPtr now = options_.filesystem->Current(i);
    GenerationPtr before = options_.filesystem->Find(i, now->number - 1);
    if (now->number > 1) out.push_back({i, before, now});
  }
  return out;
}

void Sources::Poll() {
  std::vector<std::shared_ptr<reader::RemoteFiles>> opened;
  {
    std::lock_guard lock(mutex_);
    opened = opened_;
  }
  for (const auto& each : opened) each->Poll();
}

void Sources::LetGoOfPages() {
  std::lock_guard lock(mutex_);
  for (const auto& each : opened_) each->LetGoOfPages();
}

}  // namespace forebay::fuse
