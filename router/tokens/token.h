#pragma once
// A bearer token: a JSON Web Token (RFC 7519) in the compact form of a signature (RFC 7515).

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "router/tokens/signature.h"

namespace signalbox::tokens {

inline constexpr size_t kTokenBytesMax = size_t{8} << 10;

/// True for a text of three parts with dots between them. Keys of ours have none.
bool looks_like_token(std::string_view text);

/// A token whose signature has not been verified: no claim in it is known to be true.
struct Token {
  Algorithm algorithm;
  std::optional<std::string> key_id;
  std::string_view signed_text;  // a view of the parsed text
  std::string signature;
  json::Document claims;  // its root is an object
};

/// Keys and addresses of keys in the header are ignored. Errors: kTooLarge; kInvalid for an
/// algorithm that is not accepted, for extensions that the header requires, for members that are
/// there twice, and for a token of another type.
Result<Token> parse_token(std::string_view text);

/// Returns the member of that name. Errors: kInvalid if it is there twice.
Result<std::optional<json::Value>> only_member(const json::Value& object, std::string_view name);

}  // namespace signalbox::tokens
