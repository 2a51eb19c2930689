// The names of all options that say where a dataset is and how to read it. A caller's
// typo is an error on every surface; what catalogs and configuration files say beyond
// these names is left out.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/status.h"

namespace forebay::model {

inline constexpr std::string_view kS3Options[] = {
    "s3.access-key-id",
    "s3.anonymous",
    "s3.endpoint",
    "s3.region",
    "s3.role-arn",
    "s3.role-session-name",
    "s3.secret-access-key",
    "s3.session-token",
    "s3.force-virtual-addressing",
};
// PyIceberg's names for what services of AWS share; s3.* wins.
inline constexpr std::string_view kAwsOptions[] = {
    "client.access-key-id",     "client.region",        "client.role-arn",
    "client.role-session-name", "client.session-token", "client.secret-access-key",
};
inline constexpr std::string_view kGcsOptions[] = {"gcs.anonymous", "gcs.oauth2.token",
                                                   "gcs.oauth2.token-expires-at",
                                                   "gcs.service.host"};
inline constexpr std::string_view kAdlsOptions[] = {
    "adls.account-key",         "adls.account-name",
    "adls.anonymous",           "adls.client-id",
    "adls.client-secret",       "adls.sas-token",
    "adls.tenant-id",           "adls.blob-storage-authority",
    "adls.blob-storage-scheme", "adls.dfs-storage-authority",
    "adls.dfs-storage-scheme"};
inline constexpr std::string_view kHdfsOptions[] = {"hdfs.http-port", "hdfs.token",
                                                    "hdfs.user", "hdfs.webhdfs"};

inline constexpr std::string_view kFileOptions[] = {"file.links"};
inline constexpr std::string_view kHttpOptions[] = {
    "http.attempts-max",       "http.backoff-ms",      "http.ca-file",
    "http.connect-timeout-ms", "http.stall-timeout-s",
};
// What a catalog is asked with, besides "header.NAME".
inline constexpr std::string_view kCatalogOptions[] = {
    "audience",
    "auth.basic.password",
    "auth.basic.username",
    "auth.oauth2.client_id",
    "auth.oauth2.client_secret",
    "auth.oauth2.scope",
    "auth.oauth2.token_url",
    "auth.type",
    "catalog",
    "credential",
    "namespace-separator",
    "oauth2-server-uri",
    "prefix",
    "resource",
    "rest.sigv4-enabled",
    "scope",
    "ssl.cabundle",
    "token",
    "type",
    "uri",
    "warehouse",
};
// What is read of a table, besides "forebay.remap.PREFIX" and "forebay.allow.N".
inline constexpr std::string_view kTableOptions[] = {
    "forebay.as-of",          "forebay.branch",   "forebay.filter",
    "forebay.ignore-summary", "forebay.snapshot", "forebay.tag",
};

// Those that say where a URI leads, not who asks or how.
inline constexpr std::string_view kPlaceOptions[] = {
    "s3.endpoint",
    "gcs.service.host",
    "hdfs.http-port",
    "hdfs.webhdfs",
    "file.links",
    "adls.account-name",
    "adls.blob-storage-authority",
    "adls.blob-storage-scheme",
    "adls.dfs-storage-authority",
    "adls.dfs-storage-scheme",
};

// How an object store or HDFS is reached: what a catalog may hand out, too.
bool IsSourceOption(std::string_view name);
bool IsCatalogOption(std::string_view name);

using OptionMap = std::map<std::string, std::string>;
// kInvalid for a name that nothing reads, with the name that was probably meant.
Status CheckOptions(const OptionMap& options);
// The same for trees of files, which take no options of tables.
Status CheckFilesOptions(const OptionMap& options);
Status UnknownOption(std::string_view name);

}  // namespace forebay::model
