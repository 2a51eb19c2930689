// A MetaStore in etcd: for clusters with more than one head. A version is the key's
// modification revision.
#pragma once

#include <memory>
#include <string>

#include "meta/etcd_client.h"
#include "meta/meta_store.h"

namespace forebay::meta {

class EtcdStore : public MetaStore {
 public:
  // Calls nobody yet. kInvalid: no endpoint.
  static Result<std::unique_ptr<EtcdStore>> Make(EtcdOptions options);
  // etcd://user:password@host:port,host:port/prefix?ca=/path; etcds:// for TLS.
  static Result<EtcdOptions> ParseUri(const std::string& uri);

  Result<Entry> Get(const std::string& key) override;
  Result<uint64_t> Put(const std::string& key, const std::string& value,
                       const PutOptions& options) override;
  Status Delete(const std::string& key, std::optional<uint64_t> if_version) override;
  Result<Listing> List(const std::string& prefix) override;
  Result<uint64_t> WaitForChange(const std::string& prefix, uint64_t revision,
                                 Deadline deadline) override;
  Result<LeaseId> GrantLease(milliseconds ttl) override;
  Status KeepAlive(LeaseId lease) override;
  Status EndLease(LeaseId lease) override;

 private:
  explicit EtcdStore(EtcdOptions options);
  std::string Encoded(const std::string& key) const;
  Result<Entry> EntryOf(const nlohmann::json& pair) const;
  nlohmann::json RangeOf(const std::string& prefix) const;
  nlohmann::json CompareWith(const std::string& key, uint64_t version) const;
  Result<uint64_t> AfterRefusedPut(const nlohmann::json& answer, const std::string& key,
                                   const std::string& marked) const;
  Result<uint64_t> Watch(const std::string& prefix, uint64_t revision, Deadline deadline);

  std::string prefix_;
  EtcdClient client_;
};

}  // namespace forebay::meta
