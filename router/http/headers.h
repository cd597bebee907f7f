#pragma once
// Header fields in their order. They are kept in wire format, so that sending them takes one copy.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::http {

/// Returns the text without surrounding spaces and tabs.
std::string_view trimmed(std::string_view text);

struct Field {
  std::string_view name;   // as it was written
  std::string_view value;  // without surrounding white space
};

/// A plain value. Views into it are valid until the next change.
class Headers {
 public:
  /// `name` must be a token; it comes from a parser or from our own code. Control characters in
  /// `value` become spaces, so that a name taken from a configuration cannot start a second header.
  void add(std::string_view name, std::string_view value);
  /// Copies field `i` of other headers.
  void add(const Headers& other, size_t i);

  /// Returns the value of the first field with that name.
  std::optional<std::string_view> find(std::string_view name) const;
  size_t count(std::string_view name) const;

  size_t size() const { return spans_.size(); }
  Field operator[](size_t i) const;

  /// Returns all fields as "name: value\r\n".
  std::string_view wire() const { return bytes_; }

  void clear() {
    bytes_.clear();
    spans_.clear();
  }

 private:
  struct Span {
    uint32_t begin, name_size, value_size;
  };
  void begin_field(size_t name_size, size_t value_size);

  std::string bytes_;
  std::vector<Span> spans_;
};

/// Decides which fields a proxy forwards. It drops the hop-by-hop fields of RFC 9110 section 7.6.1,
/// the fields that Connection names, the framing (Content-Length, Transfer-Encoding) and our own
/// x-vsr-*. `headers` must outlive this object and not change.
class EndToEnd {
 public:
  explicit EndToEnd(const Headers& headers);
  bool operator()(size_t i) const;

 private:
  const Headers& headers_;
  std::set<std::string> named_;  // fields that Connection names, in lower case
};

}  // namespace signalbox::http
