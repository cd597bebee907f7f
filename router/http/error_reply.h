#pragma once
// The one table from our error codes to HTTP statuses and OpenAI's error types, and the body that
// carries them.

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

/// {"error":{"message","type","param","code"}}. `param` is the path in front of a message about the
/// request
/// ("messages[2].role: expected a string"), null otherwise.
std::string error_body(const Error& error);
/// The same for a status that HTTP itself calls for, such as 405 or 431, or for a refusal of ours,
/// whose `code` says why.
std::string error_body(int status, std::string_view message, std::string_view code = {});

/// An error's body in the words of another API.
using ErrorShape = std::function<std::string(int status, std::string_view body)>;

/// The code of a refusal of who names nobody.
inline constexpr std::string_view kMissingIdentity = "missing_identity";

/// A refusal of ours, whose `code` says why.
Task<bool> send_refusal(Reply& reply, Headers fields, int status, std::string_view message,
                        std::string_view code, const ErrorShape* shape = nullptr);

/// Answers with an error; Retry-After is added where trying again makes sense. Without a shape it
/// is OpenAI's.
Task<bool> send_error(Reply& reply, Headers fields, const Error& error,
                      const ErrorShape* shape = nullptr);

}  // namespace signalbox::http
