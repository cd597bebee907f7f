#pragma once
// Who stores something with us, and gets at it again.

#include <string>

#include "router/config/config.h"
#include "router/http/headers.h"

namespace signalbox::access {

/// Whose stored responses and contexts a request may see: of the user that `authz.identity` names,
/// where the header says one, else of the credential; as a hash, so that no key is kept. "":
/// everybody's without either.
std::string owner_of(const http::Headers& headers, const config::Config& config);

/// 128 random bits in hexadecimal digits, from the system.
std::string new_token();

}  // namespace signalbox::access
