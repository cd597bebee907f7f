// Names of the error codes, and the abort for a broken invariant.

#include "base/error.h"

#include <cstdio>
#include <cstdlib>

namespace signalbox {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::kInvalid:
      return "invalid";
    case Code::kTooLarge:
      return "too_large";
    case Code::kNotFound:
      return "not_found";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kCorrupt:
      return "corrupt";
    case Code::kOverloaded:
      return "overloaded";
    case Code::kDeadline:
      return "deadline";
    case Code::kCancelled:
      return "cancelled";
    case Code::kIo:
      return "io";
    case Code::kUpstream:
      return "upstream";
    case Code::kInternal:
      return "internal";
  }
  return "unknown";
}

tl::unexpected<Error> fail_in(std::string_view where, Error error) {
  error.message = fmt::format("{}: {}", where, error.message);
  return tl::unexpected<Error>(std::move(error));
}

void check_failed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, condition);
  std::abort();
}

}  // namespace signalbox
