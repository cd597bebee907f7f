#pragma once
// Reading a tokenizer.json strictly: a value with its path, so that each error says where the file
// is wrong.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace signalbox::tokenizer {

/// A value and where it stands: `model.vocab["x"]`. All errors are kCorrupt and begin with the
/// path.
class Field {
 public:
  Field(json::Value value, std::string path) : value_(value), path_(std::move(path)) {}

  const json::Value& value() const { return value_; }
  const std::string& path() const { return path_; }

  /// A member of this object. Errors: not an object, missing, there twice.
  Result<Field> member(std::string_view key) const;
  /// The same, but none when it is missing or null.
  Result<std::optional<Field>> optional_member(std::string_view key) const;
  /// The elements. Error: not an array.
  Result<std::vector<Field>> elements() const;

  Result<bool> boolean() const;
  Result<std::string_view> string() const;
  Result<int64_t> integer(int64_t least, int64_t most) const;

  Result<void> expect(json::Type type) const;
  /// kCorrupt: "<path>: <message>".
  template <class... Args>
  [[nodiscard]] tl::unexpected<Error> corrupt(fmt::format_string<Args...> format,
                                              Args&&... args) const {
    return fail(Code::kCorrupt, "{}: {}", path_, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  json::Value value_;
  std::string path_;
};

/// Text from a file as an error shows it: a JSON string, cut at 64 bytes.
std::string in_quotes(std::string_view text);

}  // namespace signalbox::tokenizer
