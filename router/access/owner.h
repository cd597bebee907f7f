#pragma once
// Identifies the client that stores something here and may read it again.

#include <string>
#include <string_view>

#include "router/config/config.h"
#include "router/http/message.h"

namespace signalbox::access {

/// Returns the owner of the stored responses and contexts that a request may see: the user in the
/// header that `authz.identity` names, else the credential. It is a hash, so that no key is kept.
/// "" if the request has neither; all requests with neither share one owner.
std::string owner_of(const http::Headers& headers, const config::Config& config);

/// Returns the owner of the stored responses and contexts of the user of that name.
std::string owner_of_user(std::string_view user, const config::Config& config);

/// Returns a number that identifies the client: its user, else its credential, else its address.
/// The router's own models use it to serve clients in turn.
uint64_t client_of(const http::Request& request, const config::Config& config);

/// Returns 128 random bits from the system in hexadecimal digits.
std::string new_token();

}  // namespace signalbox::access
