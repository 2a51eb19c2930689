// How a client shows a REST catalog who it is.
#pragma once

#include "base/clock.h"
#include "base/status.h"
#include "table/catalog/rest_session.h"

namespace forebay::table::catalog {

// `credential` (OAuth2 client credentials, "id:secret" or "secret"), else `token`, else
// auth.type basic or oauth2 of PyIceberg's configuration, else nothing. Sets the
// session's Authorization header.
Status Authenticate(const source::Options& options, RestSession* session,
                    Deadline deadline);

}  // namespace forebay::table::catalog
