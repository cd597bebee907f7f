#pragma once
// What stands in the header of a request to a surface: who asks, and a credential in another API's
// field.

#include <string>

#include "router/config/config.h"
#include "router/http/headers.h"

namespace signalbox::api {

/// Whose stored responses a request may see: of the user that `authz.identity` names, where the
/// header says one, else of the credential; as a hash, so that no key is kept. "": everybody's
/// without either.
std::string owner_of(const http::Headers& headers, const config::Config& config);

/// 128 random bits in hexadecimal digits, from the system.
std::string new_token();

/// Fields of a request to Anthropic's API for a server of OpenAI's: x-api-key becomes Authorization
/// unless there is one, anthropic-* stay behind. Others are left as they are.
http::Headers for_openai(const http::Headers& headers);

/// The other way: a bearer's key becomes x-api-key unless there is one, and the API's version is
/// said.
http::Headers for_anthropic(const http::Headers& headers);

}  // namespace signalbox::api
