#pragma once
// What stands in the header of a request to a surface: a credential in another API's field.

#include "router/http/headers.h"

namespace signalbox::gateway {

/// Fields of a request to Anthropic's API for a server of OpenAI's: x-api-key becomes Authorization
/// unless there is one, anthropic-* stay behind. Others are left as they are.
http::Headers for_openai(const http::Headers& headers);

/// The other way: a bearer's key becomes x-api-key unless there is one, and the API's version is
/// said.
http::Headers for_anthropic(const http::Headers& headers);

}  // namespace signalbox::gateway
