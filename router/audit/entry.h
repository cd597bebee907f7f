#pragma once
// One line of the audit log, and how it continues the line before it.
//
// A line is a JSON object. Its "previous" is the SHA-256 of the line before, so nobody can change,
// remove or insert a line without changing all that follow.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace signalbox::audit {

inline constexpr size_t kLineBytesMax = size_t{16} << 10;

/// An event. Values are cut at 256 bytes. They are names of the configuration, of keys and of
/// users, and never texts of requests.
class Entry {
 public:
  /// `event` is static: "refused".
  explicit Entry(std::string_view event) : event_(event) {}
  /// "" adds nothing.
  Entry& text(std::string_view name, std::string_view value);
  Entry& number(std::string_view name, int64_t value);

  std::string_view event() const { return event_; }
  const std::string& members() const { return members_; }

 private:
  std::string_view event_;
  std::string members_;  // JSON members, each after a comma
};

/// The end of a chain.
struct Link {
  uint64_t number = 0;                        // of the last entry; 0: none
  std::string digest = std::string(64, '0');  // of its line
};

/// Returns the line of an entry that follows `end`, without a line break. `time` is in the format
/// of RFC 3339.
std::string line_of(const Entry& entry, const Link& end, std::string_view time);
/// Returns the link of a line of that number.
Link link_of(std::string_view line, uint64_t number);

/// The members of a line that make the chain.
struct Continued {
  uint64_t number = 0;
  std::string previous;
};
/// Errors: kInvalid for a line that is not an entry.
Result<Continued> read_line(std::string_view line);

}  // namespace signalbox::audit
