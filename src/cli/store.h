// What the subcommands of `forebay store` share.
#pragma once

#include <memory>
#include <string>

#include "cli/verb.h"
#include "storage/store.h"

namespace forebay::cli {

// Adds the argument DIR.
void AddStoreDirectory(CLI::App& app, std::string* directory);
// The same for verbs that work on shared directories too.
void AddSharedOrStoreDirectory(CLI::App& app, std::string* directory);

struct StoreRequest {
  std::string directory;
  storage::OpenMode mode = storage::OpenMode::kReadOnly;
  uint64_t quota_bytes = 0;  // 0: none
};
// Nothing but the quota makes it evict: the free-space floor is the node's business.
Result<std::unique_ptr<storage::Store>> OpenStore(const StoreRequest& request);

Run DeclareStoreLs(CLI::App& app);
Run DeclareStoreVerify(CLI::App& app);
Run DeclareStoreGc(CLI::App& app);

}  // namespace forebay::cli
