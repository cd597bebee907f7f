#pragma once
// Errors as values. Bad input, a full queue or a dead upstream is an Error that a person can act
// on: it says what, where and which value. A broken invariant is a bug and aborts through
// SIGNALBOX_CHECK; never the other way round.

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace signalbox {

enum class Code : unsigned char {
  kInvalid,      // malformed or contradictory input
  kTooLarge,     // over a limit
  kNotFound,     // a named thing that is not there
  kUnsupported,  // understood, and not built
  kCorrupt,      // a file whose bytes contradict themselves or their checksum
  kOverloaded,   // a bounded queue is full
  kDeadline,     // time ran out
  kCancelled,    // the one who asked has gone
  kIo,           // the operating system said no
  kUpstream,     // the server behind us failed
  kInternal,     // none of the above; a bug if it is ever seen
};

/// The code's name in lower case, as logs and JSON show it: "too_large".
std::string_view code_name(Code code);

struct Error {
  Code code = Code::kInternal;
  std::string message;  // one line, no trailing full stop: "model.safetensors: header claims 9 GB,
                        // the file has 12 bytes"
};

template <class T>
using Result = tl::expected<T, Error>;

/// Builds the error alternative of any Result: `return fail(Code::kInvalid, "{}: expected {}",
/// where, what);`
template <class... Args>
[[nodiscard]] tl::unexpected<Error> fail(Code code, fmt::format_string<Args...> format,
                                         Args&&... args) {
  return tl::unexpected<Error>(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}

/// The same error with its place in front: "config.json: <message>".
[[nodiscard]] tl::unexpected<Error> fail_in(std::string_view where, Error error);

[[noreturn]] void check_failed(const char* file, int line, const char* condition);

}  // namespace signalbox

/// Aborts with file, line and condition when a promise that our own code made is broken.
#define SIGNALBOX_CHECK(condition)                     \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::signalbox::check_failed(__FILE__, __LINE__, #condition))

#define SIGNALBOX_CONCAT_(a, b) a##b
#define SIGNALBOX_CONCAT(a, b) SIGNALBOX_CONCAT_(a, b)
#define SIGNALBOX_TRY_(result, target, expression)                                     \
  auto result = (expression);                                                          \
  if (!result) return ::tl::unexpected<::signalbox::Error>(std::move(result).error()); \
  target = *std::move(result)

/// `SIGNALBOX_TRY(auto file, MappedFile::open(path));` assigns the value, or returns the error to
/// the caller.
#define SIGNALBOX_TRY(target, expression) \
  SIGNALBOX_TRY_(SIGNALBOX_CONCAT(result_, __LINE__), target, expression)

/// The same for a Result<void>.
#define SIGNALBOX_TRY_VOID(expression)                         \
  if (auto SIGNALBOX_CONCAT(result_, __LINE__) = (expression); \
      !SIGNALBOX_CONCAT(result_, __LINE__))                    \
  return ::tl::unexpected<::signalbox::Error>(                 \
      std::move(SIGNALBOX_CONCAT(result_, __LINE__)).error())
