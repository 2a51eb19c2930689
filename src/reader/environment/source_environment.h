// What the calling process knows about sources and its node does not: credentials in its
// environment, its configuration, its working directory.
#pragma once

#include <map>
#include <string>

#include "base/status.h"

namespace forebay::reader {

// Adds options from AWS_… variables and PyIceberg's configuration
// (catalog_configuration.h) where the URI may lead to places that use them and the
// caller gave none: the node would otherwise act with the environment of whoever started
// it. kInvalid for an option that nothing reads.
Status AddSourceEnvironment(const std::string& uri,
                            std::map<std::string, std::string>* options);
// The place in its one spelling: relative paths are absolute, schemes in lower case. URIs
// of catalogs stay as they are.
Result<std::string> AbsoluteUri(const std::string& uri);

}  // namespace forebay::reader
