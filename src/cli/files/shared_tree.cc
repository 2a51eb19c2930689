#include "cli/files/shared_tree.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/uri.h"
#include "cli/duration.h"
#include "cli/output.h"
#include "model/brought_files.h"
#include "model/source_options.h"
#include "reader/environment/source_environment.h"
#include "reader/node_link.h"

namespace forebay::cli {
namespace {

// A source that does not list what it listed before in this time is taken for gone.
constexpr milliseconds kAnswerTime{30'000};
constexpr milliseconds kAnswerTimePerFile{1};

bool IsGone(const Status& status) {
  return status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kDeadline;
}

// What hosts ask for in the same words is the same.
Hash128 AskedOf(const std::string& uri, const reader::OpenOptions& options) {
  Encoder out;
  out.PutString(uri);
  for (std::string_view name : model::kPlaceOptions) {
    auto given = options.source.find(std::string(name));
    out.PutString(given == options.source.end() ? "" : given->second);
  }
  return HashBytes(out.bytes());
}

// The same path on another host is another file; a URI with a password in it is nobody
// else's business.
bool IsForAll(std::string_view uri) {
  return !uri.starts_with("file:") && RedactUri(uri) == uri;
}

// A node that is not there says nothing about the source.
Status ReachNode(const reader::OpenOptions& options) {
  reader::NodeLink link(options.node, [](const wire::Evicted&) {});
  Deadline deadline = Deadline::After(options.timeout);
  Status reached = link.Ensure(deadline);
  bool ended = reached.code() == StatusCode::kUnavailable && link.generation() > 0;
  return ended ? link.Ensure(deadline) : reached;  // just then: the next one
}

// Links are in the listing itself.
std::vector<Hash128> KeysOf(const model::FilesManifest& manifest) {
  std::vector<Hash128> keys;
  for (uint32_t file = 0; file < manifest.files().size(); ++file) {
    if (manifest.files()[file].is_link()) continue;
    keys.push_back(manifest.object(file).ContentHash(manifest.origin()));
  }
  return keys;
}

milliseconds AnswerTime(const SeenTree& seen) {
  return kAnswerTime + kAnswerTimePerFile * seen.manifest->files().size();
}

std::string NotAllOf(const std::string& uri) {
  return "not all files of " + RedactUri(uri) +
         " are in the shared directory, and the source cannot be reached";
}

}  // namespace

Result<SeenTree> FindSeen(storage::SharedDirectory& shared, const Hash128& asked) {
  FB_ASSIGN_OR_RETURN(auto listing, shared.FindListing(asked));
  auto bytes = std::make_shared<const std::string>(std::move(listing.bytes));
  FB_ASSIGN_OR_RETURN(auto manifest, model::FilesManifest::View(*bytes, bytes));
  FB_RETURN_NOT_OK(model::CheckBrought(*manifest));
  return SeenTree{std::move(manifest), listing.seen_ns};
}

Result<SharedTree> SharedTree::Open(const FilesArguments& arguments,
                                    storage::SharedDirectory& shared) {
  FB_ASSIGN_OR_RETURN(reader::OpenOptions options, OpenOptionsOf(arguments.open));
  FB_ASSIGN_OR_RETURN(std::string uri, reader::AbsoluteUri(arguments.uri));
  FB_RETURN_NOT_OK(reader::AddSourceEnvironment(uri, &options.source));
  SharedTree tree;
  tree.asked_ = AskedOf(uri, options);
  Result<SeenTree> seen = Status::NotFound("nobody else would see the same");
  if (IsForAll(uri)) seen = FindSeen(shared, tree.asked_);
  milliseconds patience = options.timeout;
  if (seen.ok()) {
    FB_RETURN_NOT_OK(ReachNode(options));
    patience = std::min(patience, AnswerTime(*seen));
    tree.seen_version_ = seen->manifest->version();
  }
  auto opened = reader::RemoteFiles::Open(uri, options, {}, patience);
  if (opened.ok()) {
    tree.files_ = *std::move(opened);
    return tree;
  }
  if (!seen.ok() || !IsGone(opened.status())) return opened.status();
  if (!shared.HasAll(KeysOf(*seen->manifest))) {
    return opened.status().WithContext(NotAllOf(uri));
  }
  Complain(fmt::format(
      "{} cannot be reached ({}): going on with its version {}, which hosts saw {}",
      RedactUri(uri), opened.status().message(), seen->manifest->version().ToHex(),
      FormatAgo(seen->at_ns)));
  options.timeout = std::min(options.timeout, kAnswerTime);
  tree.offline_ = true;
  tree.files_ = reader::RemoteFiles::Resume(
      uri, options,
      std::make_shared<reader::PinnedFiles>(std::move(seen->manifest), UniqueFd()));
  return tree;
}

Status SharedTree::Explain(const Status& status) const {
  if (!offline_ || !IsGone(status)) return status;
  return status.WithContext(NotAllOf(files_->uri()));
}

// A directory that cannot be written is used all the same.
void SharedTree::Keep(storage::SharedDirectory& shared) const {
  const model::FilesManifest& manifest = *files_->manifest();
  if (offline_ || !IsForAll(manifest.root()) || !IsForAll(files_->uri())) return;
  if (seen_version_ != manifest.version() && !shared.HasAll(KeysOf(manifest))) return;
  (void)shared.KeepListing(asked_, manifest.bytes());
}

}  // namespace forebay::cli
