#pragma once
// Errors as values. Bad input, a full queue or a failed upstream produces an Error that a person
// can act on: its message contains the problem, the place and the value. A broken invariant is a
// bug and aborts through SIGNALBOX_CHECK. Never use one mechanism in place of the other.

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace signalbox {

enum class Code : unsigned char {
  kInvalid,      // malformed or contradictory input
  kTooLarge,     // over a limit
  kNotFound,     // a named item does not exist
  kUnsupported,  // valid input, but the feature is not implemented
  kCorrupt,      // a file contradicts itself or its checksum
  kOverloaded,   // a bounded queue is full
  kDeadline,     // the deadline has passed
  kCancelled,    // the caller no longer waits
  kIo,           // a system call failed
  kUpstream,     // the server behind us failed
  kInternal,     // anything else; always a bug
};

/// Returns the code's name in lower case for logs and JSON: "too_large".
std::string_view code_name(Code code);

struct Error {
  Code code = Code::kInternal;
  std::string message;  // one line without a full stop: "model.safetensors: header claims 9 GB, the
                        // file has 12 bytes"
};

template <class T>
using Result = tl::expected<T, Error>;

/// Builds the error alternative of a Result: `return fail(Code::kInvalid, "{}: expected {}", where,
/// what);`
template <class... Args>
[[nodiscard]] tl::unexpected<Error> fail(Code code, fmt::format_string<Args...> format,
                                         Args&&... args) {
  return tl::unexpected<Error>(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}

/// Puts the place in front of the error's message: "config.json: <message>".
[[nodiscard]] tl::unexpected<Error> fail_in(std::string_view where, Error error);

[[noreturn]] void check_failed(const char* file, int line, const char* condition);

}  // namespace signalbox

/// Aborts with the file, line and condition if the condition is false. Use it for promises that our
/// own code made.
#define SIGNALBOX_CHECK(condition)                     \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::signalbox::check_failed(__FILE_NAME__, __LINE__, #condition))

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

/// SIGNALBOX_TRY for a Result<void>.
#define SIGNALBOX_TRY_VOID(expression)                         \
  if (auto SIGNALBOX_CONCAT(result_, __LINE__) = (expression); \
      !SIGNALBOX_CONCAT(result_, __LINE__))                    \
  return ::tl::unexpected<::signalbox::Error>(                 \
      std::move(SIGNALBOX_CONCAT(result_, __LINE__)).error())
