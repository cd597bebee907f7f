#pragma once
// Maps our error codes to HTTP statuses and OpenAI's error types, and writes the error bodies. This
// is the only such table.

#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "router/http/reply.h"

namespace signalbox::http {

struct ErrorKind {
  int status;
  std::string_view type;  // OpenAI's error.type
  std::string_view code;  // OpenAI's error.code; "": null
};

ErrorKind error_kind(Code code);

/// Returns {"error":{"message","type","param","code"}}. `param` is the path that an error in the
/// request begins with ("messages[2].role: expected a string"), else null.
std::string error_body(const Error& error);
/// The same body for a status that HTTP itself requires, such as 405 or 431, or for a request that
/// the router refuses; `code` then gives the reason.
std::string error_body(int status, std::string_view message, std::string_view code = {});

/// Rewrites an OpenAI error body for another API.
using ErrorShape = std::function<std::string(int status, std::string_view body)>;

/// The error code for a request that does not identify its user.
inline constexpr std::string_view kMissingIdentity = "missing_identity";

/// Refuses a request; `code` gives the reason.
Task<bool> send_refusal(Reply& reply, Headers fields, int status, std::string_view message,
                        std::string_view code, const ErrorShape* shape = nullptr);

/// Sends an error reply and adds Retry-After if a retry can succeed. Without a shape the body is
/// OpenAI's.
Task<bool> send_error(Reply& reply, Headers fields, const Error& error,
                      const ErrorShape* shape = nullptr);

}  // namespace signalbox::http
