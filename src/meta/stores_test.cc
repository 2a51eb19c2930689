// What only one of the stores can do, or only one of them can suffer.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "meta/base64.h"
#include "meta/etcd_store.h"
#include "meta/sqlite_store.h"
#include "support/servers.h"

namespace forebay::meta {
namespace {

using testing_support::EtcdCluster;
using testing_support::FreePort;
using testing_support::RunCommand;
using testing_support::TempFolder;

#define START_ETCD(cluster, ...)                                                \
  auto cluster##_started = EtcdCluster::Start(__VA_ARGS__);                     \
  if (cluster##_started.status().code() == StatusCode::kNotFound) GTEST_SKIP(); \
  auto cluster = std::move(cluster##_started).ValueOrDie()

TEST(Base64, IsTheSameBothWays) {
  for (std::string text : {"", "f", "fo", "foo", "foob", "\xff\x01 1"}) {
    EXPECT_EQ(Base64Decode(Base64Encode(text)), text);
  }
  EXPECT_EQ(Base64Encode("foob"), "Zm9vYg==");
  for (const char* bad : {"Zg=", "Z===", "Z!==", "Zg==Zg==", "Zm9vY"}) {
    EXPECT_EQ(Base64Decode(bad), std::nullopt) << bad;
  }
}

TEST(SqliteStore, IsThereAfterARestartAndForItsOwnerAlone) {
  TempFolder folder;
  std::string path = folder.path() + "/meta.db";
  FakeClock clock;
  uint64_t version = 0;
  LeaseId lease = 0;
  {
    auto store = SqliteStore::Open(path, &clock).ValueOrDie();
    version = store->Put("a", "1", {}).ValueOrDie();
    lease = store->GrantLease(milliseconds(5'000)).ValueOrDie();
    ASSERT_TRUE(store->Put("leader", "old", {.lease = lease}).ok());
  }
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  auto store = SqliteStore::Open(path, &clock).ValueOrDie();
  EXPECT_EQ(store->Get("a").ValueOrDie().version, version);
  EXPECT_TRUE(store->Get("leader").ok());
  clock.Advance(milliseconds(5'000));
  EXPECT_FALSE(store->Get("leader").ok());
  EXPECT_GT(store->Put("a", "2", {}).ValueOrDie(), version);
}

TEST(SqliteStore, EndsLeasesOfAnEarlierBoot) {
  TempFolder folder;
  std::string path = folder.path() + "/meta.db";
  FakeClock clock;
  auto store = SqliteStore::Open(path, &clock).ValueOrDie();
  LeaseId earlier = store->GrantLease(milliseconds(60'000)).ValueOrDie();
  ASSERT_TRUE(store->Put("leader", "old", {.lease = earlier}).ok());
  ASSERT_TRUE(store->Put("stays", "1", {}).ok());
  // As if the machine had been started anew: its monotonic clock, too.
  auto database = sqlite::Database::Open(path, {.mode = sqlite::Mode::kReadWrite});
  ASSERT_TRUE(database->Execute("UPDATE leases SET boot = 'an earlier one'").ok());
  LeaseId later = store->GrantLease(milliseconds(60'000)).ValueOrDie();
  ASSERT_TRUE(store->Put("now", "1", {.lease = later}).ok());
  EXPECT_EQ(store->Get("leader").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(store->KeepAlive(earlier).code(), StatusCode::kNotFound);
  EXPECT_TRUE(store->Get("stays").ok());
  EXPECT_TRUE(store->Get("now").ok());
}

TEST(SqliteStore, RefusesAFormatOfALaterRelease) {
  TempFolder folder;
  std::string path = folder.path() + "/meta.db";
  ASSERT_TRUE(SqliteStore::Open(path).ok());
  {
    auto database = sqlite::Database::Open(path, {.mode = sqlite::Mode::kReadWrite});
    ASSERT_TRUE(database->Execute("PRAGMA user_version=2").ok());
  }
  EXPECT_EQ(SqliteStore::Open(path).status().code(), StatusCode::kUnsupported);
}

TEST(SqliteStore, SharesItsFileWithAnotherProcess) {
  TempFolder folder;
  std::string path = folder.path() + "/meta.db";
  auto one = SqliteStore::Open(path).ValueOrDie();
  auto other = SqliteStore::Open(path).ValueOrDie();
  uint64_t revision = one->List("").ValueOrDie().revision;
  ASSERT_TRUE(other->Put("a", "1", {}).ok());
  EXPECT_GT(one->WaitForChange("", revision, Deadline::After(milliseconds(10'000)))
                .ValueOrDie(),
            revision);
  EXPECT_EQ(one->Put("a", "2", {.if_version = kAbsent}).status().code(),
            StatusCode::kChanged);
}

TEST(SqliteStore, RefusesWhatIsNotItsOwn) {
  TempFolder folder;
  testing_support::WriteFile(folder.path() + "/text", std::string(5'000, 'x'));
  EXPECT_EQ(SqliteStore::Open(folder.path() + "/text").status().code(),
            StatusCode::kCorrupt);
  EXPECT_EQ(SqliteStore::Open(folder.path() + "/no/such").status().code(),
            StatusCode::kNotFound);
}

TEST(OpenMetaStore, KnowsItsAddresses) {
  EXPECT_TRUE(OpenMetaStore("memory:").ok());
  for (const char* bad : {"", "sqlite:", "redis://h", "etcd://", "etcd://h?x=1"}) {
    EXPECT_EQ(OpenMetaStore(bad).status().code(), StatusCode::kInvalid) << bad;
  }
  auto error = OpenMetaStore("redis://me:secret@h").status();
  EXPECT_EQ(error.message().find("secret"), std::string::npos);
}

TEST(EtcdStore, ReadsAddresses) {
  auto options = EtcdStore::ParseUri("etcds://me:a:b@h1:1,h2:2/team/x?ca=/ca.pem");
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->endpoints,
            (std::vector<std::string>{"https://h1:1", "https://h2:2"}));
  EXPECT_EQ(options->user, "me");
  EXPECT_EQ(options->password, "a:b");
  EXPECT_EQ(options->prefix, "team/x/");
  EXPECT_EQ(options->ca_file, "/ca.pem");
  EXPECT_EQ(EtcdStore::ParseUri("etcd://h:1")->endpoints[0], "http://h:1");
}

TEST(EtcdStore, SaysSoWhenNobodyAnswers) {
  auto store = OpenMetaStore("etcd://127.0.0.1:" + std::to_string(FreePort()));
  EXPECT_EQ((*store)->Get("a").status().code(), StatusCode::kUnavailable);
}

TEST(EtcdStore, GoesOnWhenAMemberDies) {
  START_ETCD(cluster, {.members = 3});
  std::string uri = "etcd://";
  for (const std::string& address : cluster->addresses()) uri += address + ",";
  auto store = OpenMetaStore(uri).ValueOrDie();
  // Until the members have found each other.
  Deadline deadline = Deadline::After(milliseconds(20'000));
  while (!store->Put("a", "1", {}).ok()) ASSERT_FALSE(deadline.passed());
  LeaseId lease = store->GrantLease(milliseconds(10'000)).ValueOrDie();
  uint64_t revision = store->List("a").ValueOrDie().revision;
  std::thread writer([&] {
    cluster->Kill(0);
    Status put = Status::Unavailable("");
    while (!put.ok() && !deadline.passed()) put = store->Put("a", "2", {}).status();
    EXPECT_TRUE(put.ok()) << put;
  });
  // The watcher was on the member that died.
  EXPECT_GT(store->WaitForChange("a", revision, deadline).ValueOrDie(), revision);
  writer.join();
  EXPECT_EQ(store->Get("a").ValueOrDie().value, "2");
  EXPECT_TRUE(store->KeepAlive(lease).ok());
}

Status Admin(const std::string& address, const std::string& path,
             const nlohmann::json& request) {
  EtcdClient client({.endpoints = {"http://" + address}});
  return client.Call("auth/" + path, request).status();
}

TEST(EtcdStore, SignsIn) {
  START_ETCD(cluster, {});
  const std::string& at = cluster->addresses()[0];
  ASSERT_TRUE(Admin(at, "user/add", {{"name", "root"}, {"password", "s3cret"}}).ok());
  ASSERT_TRUE(Admin(at, "role/add", {{"name", "root"}}).ok());
  ASSERT_TRUE(Admin(at, "user/grant", {{"user", "root"}, {"role", "root"}}).ok());
  ASSERT_TRUE(Admin(at, "enable", nlohmann::json::object()).ok());

  auto store = OpenMetaStore("etcd://root:s3cret@" + at).ValueOrDie();
  ASSERT_TRUE(store->Put("a", "1", {}).ok());
  uint64_t revision = store->List("a").ValueOrDie().revision;
  EXPECT_EQ(
      store->WaitForChange("a", revision, Deadline::After(milliseconds(50))).ValueOrDie(),
      revision);
  auto stranger = OpenMetaStore("etcd://" + at).ValueOrDie();
  EXPECT_FALSE(stranger->Get("a").ok());
  auto wrong = OpenMetaStore("etcd://root:wr0ng@" + at).ValueOrDie();
  Status refused = wrong->Get("a").status();
  EXPECT_FALSE(refused.ok());
  EXPECT_EQ(refused.message().find("wr0ng"), std::string::npos);
}

TEST(EtcdStore, SpeaksTlsWithAGivenCa) {
  TempFolder folder;
  std::string cert = folder.path() + "/cert.pem";
  std::string key = folder.path() + "/key.pem";
  Status made =
      RunCommand({.argv = {"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                           "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                           "-keyout", key, "-out", cert, "-subj", "/CN=test", "-addext",
                           "subjectAltName=IP:127.0.0.1"}});
  if (!made.ok()) GTEST_SKIP() << "openssl is not installed";
  START_ETCD(cluster, {.cert_file = cert, .key_file = key});
  const std::string& at = cluster->addresses()[0];
  auto store = OpenMetaStore("etcds://" + at + "?ca=" + cert).ValueOrDie();
  EXPECT_TRUE(store->Put("a", "1", {}).ok());
  EXPECT_EQ(store->Get("a").ValueOrDie().value, "1");
  auto without = OpenMetaStore("etcds://" + at).ValueOrDie();
  EXPECT_FALSE(without->Get("a").ok());
}

}  // namespace
}  // namespace forebay::meta
