#pragma once
// Resolves the escapes of a text that is JSON and maps positions back to its bytes, so that a match
// can be replaced in place while the rest keeps its bytes.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::request {

class JsonText {
 public:
  /// `source` must be well-formed JSON and outlive this object.
  explicit JsonText(std::string_view source);

  /// Returns the source with the escapes of its strings resolved; the source itself if it has none.
  std::string_view text() const { return pieces_.empty() ? source_ : std::string_view(text_); }

  struct Part {
    size_t begin, end;  // in text()
    bool is_string;     // otherwise a complete number
  };
  /// Returns the parts of strings in text()[begin, end), and the numbers that overlap it, in order.
  std::vector<Part> parts(size_t begin, size_t end) const;

  struct Range {
    size_t begin, end;
  };
  /// Returns the position of a part in the source.
  Range origin(size_t begin, size_t end) const;

 private:
  struct Piece {
    size_t at;      // in text_
    size_t from;    // in source_
    size_t escape;  // length of the escape in source_; 0: the text is copied unchanged
  };

  size_t unescape(size_t at);
  void keep(size_t begin, size_t end);
  const Piece& piece_at(size_t at) const;
  void add_numbers(size_t begin, size_t end, std::vector<Part>& out) const;

  std::string_view source_;
  std::string text_;
  std::vector<Piece> pieces_;   // in order; empty if there is no escape
  std::vector<Range> strings_;  // the contents of the strings, in text()
};

}  // namespace signalbox::request
