#include "cli/files/mount_arguments.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "fuse/node_id.h"
#include "reader/environment/source_environment.h"

namespace forebay::cli {
namespace {

constexpr size_t kNameBytesMax = 255;

Result<MountSource> ParseSource(const std::string& text) {
  size_t split = text.rfind('=');
  if (split == std::string::npos || split == 0) {
    return Status::Invalid("a source is URI=NAME, for example s3://bucket/a=train, not " +
                           text);
  }
  MountSource source{.uri = text.substr(0, split), .name = text.substr(split + 1)};
  if (source.name.empty() || source.name == "." || source.name == ".." ||
      source.name.find('/') != std::string::npos || source.name.size() > kNameBytesMax) {
    return Status::Invalid("the folder of a source is one plain name, not '" +
                           source.name + "'");
  }
  return source;
}

std::string GivenOr(const std::string& given, const char* variable) {
  const char* value = given.empty() ? std::getenv(variable) : nullptr;
  return value != nullptr ? value : given;
}

// A mount runs in another directory than the one it was started in.
Result<reader::NodeOptions> AbsoluteNode(const reader::NodeOptions& given) {
  reader::NodeOptions node = given;
  node.store = GivenOr(given.store, "FOREBAY_STORE");
  if (!node.store.empty()) {
    FB_ASSIGN_OR_RETURN(node.store, reader::ResolveStore(node));
  }
  node.socket = GivenOr(given.socket, "FOREBAY_NODE");
  if (!node.socket.empty()) node.socket = std::filesystem::absolute(node.socket).string();
  return node;
}

}  // namespace

void AddMountArguments(CLI::App& app, MountArguments* arguments) {
  app.add_option(
         "PLACES", arguments->places,
         "SOURCE DIR: what to mount (/data/images, s3://bucket/images) and where; "
         "with --source only DIR")
      ->option_text("[SOURCE] DIR");
  app.add_option("--source", arguments->sources,
                 "a source that becomes the folder NAME; may be repeated")
      ->take_all()
      ->allow_extra_args(false)
      ->option_text("URI=NAME");
  app.add_option(
         "--profile", arguments->profile,
         "small: opening a file asks nobody; large: whole files are read from the "
         "store without us (default: by the sizes of the files)")
      ->check(CLI::IsMember({"small", "large"}))
      ->option_text("small|large");
  app.add_option("--memory", arguments->memory,
                 "the most memory the serving process takes")
      ->option_text("SIZE [1GiB]");
  app.add_flag("--foreground", arguments->foreground, "stay, and log to stderr");
  app.add_flag("--allow-other", arguments->allow_other,
               "let other users read what is mounted");
  AddOpenArguments(app, "10m", &arguments->open);
}

Result<std::vector<MountSource>> MountSources(const MountArguments& arguments) {
  size_t wanted = arguments.sources.empty() ? 2 : 1;
  if (arguments.places.size() != wanted) {
    return Status::Invalid(wanted == 2 ? "give what to mount and where: SOURCE DIR"
                                       : "with --source give only where: DIR");
  }
  if (arguments.sources.size() > fuse::kSourcesMax) {
    return Status::Invalid(
        fmt::format("a mount has at most {} sources, not {}: mount some elsewhere",
                    fuse::kSourcesMax, arguments.sources.size()));
  }
  std::vector<MountSource> sources;
  if (wanted == 2) sources.push_back({.uri = arguments.places[0], .name = ""});
  std::set<std::string> names;
  for (const std::string& text : arguments.sources) {
    FB_ASSIGN_OR_RETURN(MountSource source, ParseSource(text));
    if (!names.insert(source.name).second) {
      return Status::Invalid("two sources cannot both be the folder " + source.name);
    }
    sources.push_back(std::move(source));
  }
  for (MountSource& source : sources) {
    FB_ASSIGN_OR_RETURN(source.uri, reader::AbsoluteUri(source.uri));
  }
  return sources;
}

Result<std::string> MountDirectory(const MountArguments& arguments) {
  if (arguments.places.empty() || arguments.places.back().empty()) {
    return Status::Invalid("give a directory to mount at");
  }
  return std::filesystem::absolute(arguments.places.back()).string();
}

Result<std::vector<std::string>> MountWords(const MountArguments& arguments) {
  FB_ASSIGN_OR_RETURN(std::vector<MountSource> sources, MountSources(arguments));
  FB_ASSIGN_OR_RETURN(std::string directory, MountDirectory(arguments));
  std::vector<std::string> words;
  auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  for (const MountSource& source : sources) {
    if (!source.name.empty()) add("--source", source.uri + "=" + source.name);
  }
  for (const std::string& option : arguments.open.options) add("--option", option);
  add("--profile", arguments.profile);
  add("--memory", arguments.memory);
  FB_ASSIGN_OR_RETURN(reader::NodeOptions node, AbsoluteNode(arguments.open.node));
  add("--store", node.store);
  add("--node", node.socket);
  add("--timeout", arguments.open.timeout);
  if (arguments.foreground) words.emplace_back("--foreground");
  if (arguments.allow_other) words.emplace_back("--allow-other");
  words.emplace_back("--");
  if (sources[0].name.empty()) words.push_back(sources[0].uri);
  words.push_back(directory);
  return words;
}

}  // namespace forebay::cli
