#pragma once
// Header fields in order, kept as the bytes that go on the wire, so that sending them is one copy.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::http {

/// Without the spaces and tabs around it.
std::string_view trimmed(std::string_view text);

struct Field {
  std::string_view name;   // as it was written
  std::string_view value;  // without surrounding white space
};

/// A plain value; views into it live until the next change.
class Headers {
 public:
  /// Names must be tokens (they come from a parser or from our own code). Control characters in the
  /// value become spaces, so that a name taken from a configuration cannot start a second header.
  void add(std::string_view name, std::string_view value);

  /// The first value of that name.
  std::optional<std::string_view> find(std::string_view name) const;
  size_t count(std::string_view name) const;

  size_t size() const { return spans_.size(); }
  Field operator[](size_t i) const;

  /// "name: value\r\n" for every field.
  std::string_view wire() const { return bytes_; }

  void clear() {
    bytes_.clear();
    spans_.clear();
  }

 private:
  struct Span {
    uint32_t begin, name_size, value_size;
  };
  std::string bytes_;
  std::vector<Span> spans_;
};

/// Which fields are meant for the other end: not the hop-by-hop fields of RFC 9110 section 7.6.1,
/// nor those that Connection names, nor the framing (Content-Length, Transfer-Encoding), nor our
/// own x-vsr-*. The headers live longer and do not change.
class EndToEnd {
 public:
  explicit EndToEnd(const Headers& headers);
  bool operator()(size_t i) const;

 private:
  const Headers& headers_;
  std::set<std::string> named_;  // by Connection, in lower case
};

}  // namespace signalbox::http
