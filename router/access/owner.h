#pragma once
// Identifies the client that stores something here and may read it again.

#include <string>

#include "router/config/config.h"
#include "router/http/headers.h"

namespace signalbox::access {

/// Returns the owner of the stored responses and contexts that a request may see: the user in the
/// header that `authz.identity` names, else the credential. It is a hash, so that no key is kept.
/// "": the request has neither, and shares with all such requests.
std::string owner_of(const http::Headers& headers, const config::Config& config);

/// Returns 128 random bits from the system in hexadecimal digits.
std::string new_token();

}  // namespace signalbox::access
