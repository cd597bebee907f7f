// The parts are decoded strictly, so that no two texts are the same token.

#include "router/tokens/token.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/base64.h"
#include "base/json_writer.h"

namespace signalbox::tokens {
namespace {

constexpr uint32_t kPartDepthMax = 16;

Result<json::Document> parse_part(std::string_view part, std::string_view name) {
  auto bytes = base64::decode_url(part);
  if (!bytes) return fail_in(name, bytes.error());
  auto document = json::Document::parse(*std::move(bytes), {kTokenBytesMax, kPartDepthMax});
  if (!document) return fail_in(name, document.error());
  if (!document->root().is_object())
    return fail(Code::kInvalid, "{}: expected a JSON object", name);
  return document;
}

Result<std::optional<std::string>> header_text(const json::Value& header, std::string_view name) {
  SIGNALBOX_TRY(const auto value, only_member(header, name));
  if (!value) return std::optional<std::string>();
  if (!value->is_string())
    return fail(Code::kInvalid, "the token's header: {}: expected a string", name);
  return std::optional<std::string>(value->text());
}

/// Other types, such as logout tokens, have other rules and could pass for an access token.
Result<void> check_type(std::string_view type) {
  constexpr std::string_view kMedia = "application/";
  if (ascii::iequals(type.substr(0, kMedia.size()), kMedia)) type.remove_prefix(kMedia.size());
  if (ascii::iequals(type, "JWT") || ascii::iequals(type, "at+jwt")) return {};
  return fail(Code::kInvalid, "the token's header: typ: expected JWT or at+jwt, found {}",
              json::quote_briefly(type));
}

}  // namespace

bool looks_like_token(std::string_view text) {
  return std::count(text.begin(), text.end(), '.') == 2;
}

Result<std::optional<json::Value>> only_member(const json::Value& object, std::string_view name) {
  if (object.count(name) > 1)
    return fail(Code::kInvalid, "the token has {} twice", json::quote_briefly(name));
  return object.find(name);
}

Result<Token> parse_token(std::string_view text) {
  if (text.size() > kTokenBytesMax)
    return fail(Code::kTooLarge, "the token has {} bytes, at most {} are read", text.size(),
                kTokenBytesMax);
  const size_t first = text.find('.'), last = text.rfind('.');
  if (!looks_like_token(text))
    return fail(Code::kInvalid, "the token does not have three parts with dots between them");
  SIGNALBOX_TRY(const json::Document header,
                parse_part(text.substr(0, first), "the token's header"));
  const json::Value root = header.root();
  SIGNALBOX_TRY(const auto name, header_text(root, "alg"));
  const auto algorithm = name ? algorithm_of(*name) : std::nullopt;
  if (!algorithm)
    return fail(Code::kInvalid, "the token's algorithm {} is not accepted",
                json::quote_briefly(name.value_or("")));
  if (root.find("crit"))
    return fail(Code::kInvalid, "the token's header requires extensions (crit)");
  SIGNALBOX_TRY(const auto type, header_text(root, "typ"));
  if (type) SIGNALBOX_TRY_VOID(check_type(*type));
  SIGNALBOX_TRY(auto key_id, header_text(root, "kid"));
  SIGNALBOX_TRY(json::Document claims,
                parse_part(text.substr(first + 1, last - first - 1), "the token's claims"));
  auto signature = base64::decode_url(text.substr(last + 1));
  if (!signature) return fail_in("the token's signature", signature.error());
  return Token{*algorithm, std::move(key_id), text.substr(0, last), *std::move(signature),
               std::move(claims)};
}

}  // namespace signalbox::tokens
