#pragma once
// Strict reading of a tokenizer.json and of the files beside it. Each value carries its path, so
// that errors can report where the file is wrong.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace signalbox::tokenizer {

/// The meaning of a member that is there several times: an error, or its last value, as in Python.
enum class Repeated : uint8_t { kRefused, kLast };

/// A value and its path, such as `model.vocab["x"]`. All errors are kCorrupt and begin with the
/// path. The members and elements of a value inherit its `repeated`.
class Field {
 public:
  Field(json::Value value, std::string path, Repeated repeated = Repeated::kRefused)
      : value_(value), path_(std::move(path)), repeated_(repeated) {}

  const json::Value& value() const { return value_; }
  const std::string& path() const { return path_; }

  /// Returns a member of this object. Errors: not an object, missing member, duplicate member.
  Result<Field> member(std::string_view key) const;
  /// Like member(), but returns nullopt if the member is missing or null.
  Result<std::optional<Field>> optional_member(std::string_view key) const;
  /// Returns the elements. Error: not an array.
  Result<std::vector<Field>> elements() const;

  Result<bool> boolean() const;
  Result<std::string_view> string() const;
  Result<int64_t> integer(int64_t least, int64_t most) const;

  Result<void> expect(json::Type type) const;
  /// Returns kCorrupt: "<path>: <message>".
  template <class... Args>
  [[nodiscard]] tl::unexpected<Error> corrupt(fmt::format_string<Args...> format,
                                              Args&&... args) const {
    return fail(Code::kCorrupt, "{}: {}", path_, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  json::Value value_;
  std::string path_;
  Repeated repeated_;
};

/// Formats text from the file for an error: a JSON string, cut at 64 bytes.
std::string in_quotes(std::string_view text);

}  // namespace signalbox::tokenizer
