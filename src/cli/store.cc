// forebay store ls|verify|gc|usage DIR: works on the directory itself, with or without a
// node.
#include "cli/store.h"

#include <CLI/App.hpp>
#include <filesystem>

#include "cli/files/store_usage.h"
#include "cli/verbs.h"
#include "storage/shared/shared_directory.h"

namespace forebay::cli {
namespace {

constexpr Verb kStoreVerbs[] = {
    {"ls", "List the chunks: key, kind, size, last use", DeclareStoreLs},
    {"verify", "Check every chunk; bad ones go to quarantine", DeclareStoreVerify},
    {"gc", "Remove debris, and evict down to a quota or until so much is free",
     DeclareStoreGc},
    {"usage", "Show who uses how much, when last and how often", DeclareStoreUsage},
};

}  // namespace

void AddStoreDirectory(CLI::App& app, std::string* directory) {
  app.add_option("DIR", *directory, "the directory of a tier")->required();
}

void AddSharedOrStoreDirectory(CLI::App& app, std::string* directory) {
  app.add_option("DIR", *directory, "the directory of a tier, or one that hosts share")
      ->required();
}

Result<std::unique_ptr<storage::Store>> OpenStore(const StoreRequest& request) {
  std::error_code error;
  auto path = std::filesystem::absolute(request.directory, error);
  if (error) return Status::Invalid("no such directory: " + request.directory);
  if (storage::SharedDirectory::IsOne(path.string())) {
    return Status::Invalid(request.directory +
                           " is a shared directory: forebay store usage and gc are for "
                           "those, ls and verify for stores");
  }
  storage::TierOptions tier{.spec = {.medium = model::Medium::kSsd,
                                     .path = path.lexically_normal().string(),
                                     .quota_bytes = request.quota_bytes},
                            .high_watermark = 1.0,
                            .low_watermark = 1.0,
                            .free_floor_bytes = 0};
  storage::StoreOptions options;
  options.tiers.push_back(std::move(tier));
  options.mode = request.mode;
  return storage::Store::Open(std::move(options));
}

Run DeclareStore(CLI::App& app) { return DeclareAll(app, kStoreVerbs); }

}  // namespace forebay::cli
