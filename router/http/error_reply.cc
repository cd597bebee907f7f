// OpenAI's clients retry 408, 409, 429 and 5xx. An error that a retry cannot fix therefore gets a
// 4xx status other than those three.

#include "router/http/error_reply.h"

#include "base/ascii.h"
#include "base/json_writer.h"

namespace signalbox::http {
namespace {

constexpr std::string_view kInvalidRequest = "invalid_request_error";
constexpr std::string_view kServerError = "server_error";

std::string body(std::string_view message, std::string_view type, std::string_view param,
                 std::string_view code) {
  json::Writer out;
  out.begin_object().key("error").begin_object();
  out.member("message", message).member("type", type);
  param.empty() ? out.key("param").null() : out.member("param", param);
  code.empty() ? out.key("code").null() : out.member("code", code);
  return out.end_object().end_object().take();
}

/// Returns "messages[2].role" for "messages[2].role: expected a string", or "" if the message does
/// not begin with a path.
std::string_view path_of(std::string_view message) {
  const size_t colon = message.find(": ");
  if (colon == std::string_view::npos) return {};
  const std::string_view path = message.substr(0, colon);
  // "JSON: unexpected content" concerns the whole body.
  if (path.empty() || !(path.front() >= 'a' && path.front() <= 'z')) return {};
  const auto outside = [](char c) {
    return !(ascii::is_alnum(c) || c == '_' || c == '.' || c == '[' || c == ']');
  };
  for (const char c : path) {
    if (outside(c)) return {};
  }
  return path;
}

}  // namespace

ErrorKind error_kind(Code code) {
  switch (code) {
    case Code::kInvalid:
      return {400, kInvalidRequest, ""};
    case Code::kTooLarge:
      return {413, kInvalidRequest, "request_too_large"};
    case Code::kNotFound:
      return {404, kInvalidRequest, "model_not_found"};
    case Code::kUnsupported:
      return {501, kServerError, "not_implemented"};
    case Code::kOverloaded:
      return {429, "rate_limit_error", "overloaded"};
    case Code::kDeadline:
      return {504, "timeout_error", "timeout"};
    case Code::kCancelled:
      return {499, kServerError,
              "client_closed_request"};  // the client has gone, so nobody reads it
    case Code::kUpstream:
      return {502, kServerError, "upstream_error"};
    case Code::kCorrupt:
    case Code::kIo:
    case Code::kInternal:
      return {500, kServerError, "internal_error"};
  }
  return {500, kServerError, "internal_error"};
}

std::string error_body(const Error& error) {
  const ErrorKind kind = error_kind(error.code);
  const std::string_view param =
      error.code == Code::kInvalid ? path_of(error.message) : std::string_view{};
  return body(error.message, kind.type, param, kind.code);
}

std::string error_body(int status, std::string_view message, std::string_view code) {
  if (status == error_kind(Code::kOverloaded).status) {
    const ErrorKind kind = error_kind(Code::kOverloaded);
    return body(message, kind.type, {}, code.empty() ? kind.code : code);
  }
  return body(message, status >= 500 ? kServerError : kInvalidRequest, {}, code);
}

Task<bool> send_refusal(Reply& reply, Headers fields, int status, std::string_view message,
                        std::string_view code, const ErrorShape* shape) {
  fields.add("Content-Type", "application/json");
  std::string text = error_body(status, message, code);
  if (shape != nullptr) text = (*shape)(status, text);
  co_return co_await reply.send(status, fields, text);
}

Task<bool> send_error(Reply& reply, Headers fields, const Error& error, const ErrorShape* shape) {
  const ErrorKind kind = error_kind(error.code);
  fields.add("Content-Type", "application/json");
  // One second: a full queue empties in less, and a shorter wait would only fill it again.
  if (kind.status == 429) fields.add("Retry-After", "1");
  std::string text = error_body(error);
  if (shape != nullptr) text = (*shape)(kind.status, text);
  co_return co_await reply.send(kind.status, fields, text);
}

}  // namespace signalbox::http
