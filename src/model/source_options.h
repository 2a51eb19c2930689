// The names of the options that sources take, where more than one folder needs to know
// them: a caller's typo is an error, and what catalogs and configuration files say beyond
// these names is left out.
#pragma once

#include <string_view>

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

// One of the above.
bool IsSourceOption(std::string_view name);

}  // namespace forebay::model
