#include "fuse/sources.h"

#include <algorithm>

#include "base/uri.h"
#include "reader/environment/source_environment.h"

namespace forebay::fuse {

Sources::Sources(Options options)
    : options_(std::move(options)),
      share_{.links = std::make_shared<reader::LinkPool>(options_.open.node),
             .mapped = std::make_shared<reader::MappedChunks>(
                 reader::MappedChunks::Limits{.bytes = options_.mapped_bytes_max})},
      newest_(options_.specs.size()) {}

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

void Sources::Keep(uint32_t source, std::shared_ptr<reader::RemoteFiles> files,
                   GenerationPtr generation) {
  {
    std::lock_guard lock(mutex_);
    auto& newest = newest_[source];
    if (newest != nullptr) newest->pinned()->CloseDescriptor();
    newest = files;
    opened_.push_back(std::move(files));
  }
  options_.filesystem->Add(source, std::move(generation));
}

// True when the version is another than the one before.
Result<bool> Sources::OpenNext(uint32_t source) {
  const SourceSpec& spec = options_.specs[source];
  FB_ASSIGN_OR_RETURN(auto options, OptionsOf(spec));
  auto opened = reader::RemoteFiles::Open(spec.uri, options, share_);
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
  FB_ASSIGN_OR_RETURN(UniqueFd manifest, files->pinned()->Descriptor());
  FB_RETURN_NOT_OK(Tell(source, *generation, manifest.get(), births.get()));
  Keep(source, std::move(files), std::move(generation));
  return true;
}

Status Sources::Resume(Letter letter) {
  const Message& message = letter.message;
  if (message.source >= options_.specs.size() || letter.fds.empty()) {
    return Status::Corrupt("the supervisor handed over another mount's version");
  }
  FB_ASSIGN_OR_RETURN(auto mapping, Mapping::Map(letter.fds[0].get(), message.size,
                                                 Mapping::Mode::kShared));
  FB_ASSIGN_OR_RETURN(auto manifest,
                      model::FilesManifest::View(mapping->bytes(), mapping));
  auto generation = std::make_shared<Generation>();
  generation->number = message.generation;
  if (letter.fds.size() > 1) {
    FB_ASSIGN_OR_RETURN(generation->births, Births::View(letter.fds[1].get(), *manifest));
  }
  const SourceSpec& spec = options_.specs[message.source];
  FB_ASSIGN_OR_RETURN(auto options, OptionsOf(spec));
  auto pinned = std::make_shared<reader::PinnedFiles>(std::move(manifest),
                                                      std::move(letter.fds[0]));
  auto files = reader::RemoteFiles::Resume(spec.uri, options, std::move(pinned), share_);
  generation->contents = std::make_shared<RemoteContents>(files);
  Keep(message.source, std::move(files), std::move(generation));
  return Status::OK();
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

void Sources::Poll() { share_.links->Poll(); }

void Sources::LetGoOfPages() {
  share_.mapped->LetGoOfPages();
  std::lock_guard lock(mutex_);
  for (const auto& each : opened_) each->LetGoOfPages();
}

}  // namespace forebay::fuse
