// An error's code follows from its HTTP status unless the handler sets one.

#include "router/access/failure.h"

#include <ctime>

#include "base/json_writer.h"
#include "router/http/error_reply.h"

namespace signalbox::access {
namespace {

std::string_view code_of(int status) {
  switch (status) {
    case 400:
      return "INVALID_INPUT";
    case 401:
      return "UNAUTHORIZED";
    case 403:
      return "FORBIDDEN";
    case 404:
      return "NOT_FOUND";
    case 405:
      return "METHOD_NOT_ALLOWED";
    case 408:
      return "TIMEOUT";
    case 413:
      return "INPUT_TOO_LARGE";
    case 429:
      return "OVERLOADED";
    case 501:
      return "NOT_IMPLEMENTED";
    case 503:
      return "SERVICE_UNAVAILABLE";
    default:
      return status >= 500 ? "INTERNAL_ERROR" : "INVALID_REQUEST";
  }
}

}  // namespace

Failure failure_of(const Error& error) {
  const int status = http::error_kind(error.code).status;
  return {status, code_of(status), error.message};
}

std::string failure_body(const Failure& failure) {
  json::Writer out;
  out.begin_object().key("error").begin_object();
  out.member("code", failure.code).member("message", failure.message);
  out.member("timestamp", timestamp(std::chrono::system_clock::now()));
  return out.end_object().end_object().take();
}

std::string management_error_body(int status, std::string_view message) {
  return failure_body({status, code_of(status), std::string(message)});
}

std::string timestamp(std::chrono::system_clock::time_point when) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(when);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace signalbox::access
