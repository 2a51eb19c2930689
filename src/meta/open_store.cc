#include <fmt/format.h>

#include "base/uri.h"
#include "meta/etcd_store.h"
#include "meta/memory_store.h"
#include "meta/meta_store.h"
#include "meta/sqlite_store.h"

namespace forebay::meta {
namespace {

constexpr std::string_view kSqlite = "sqlite:";

}  // namespace

Result<std::unique_ptr<MetaStore>> OpenMetaStore(const std::string& uri,
                                                 const OpenOptions& options) {
  if (uri == "memory:") return std::make_unique<MemoryStore>(options.clock);
  if (uri.starts_with(kSqlite) && uri.size() > kSqlite.size()) {
    FB_ASSIGN_OR_RETURN(auto store,
                        SqliteStore::Open(uri.substr(kSqlite.size()), options.clock));
    return store;
  }
  if (uri.starts_with("etcd://") || uri.starts_with("etcds://")) {
    FB_ASSIGN_OR_RETURN(EtcdOptions etcd, EtcdStore::ParseUri(uri));
    FB_ASSIGN_OR_RETURN(auto store, EtcdStore::Make(std::move(etcd)));
    return store;
  }
  return Status::Invalid(
      fmt::format("'{}' is no metadata store: write sqlite:/path, "
                  "etcd://host:2379,host:2379 or memory:",
                  RedactUri(uri)));
}

}  // namespace forebay::meta
