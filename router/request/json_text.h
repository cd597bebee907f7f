#pragma once
// A text that is JSON, as those read it who open it, and the way back to its bytes: what is found
// can be replaced where it stands, and the rest keeps its bytes.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::request {

class JsonText {
 public:
  /// The source is well-formed JSON and outlives this.
  explicit JsonText(std::string_view source);

  /// The source with the escapes of its strings resolved; the source itself where it has none.
  std::string_view text() const { return pieces_.empty() ? source_ : std::string_view(text_); }

  struct Part {
    size_t begin, end;  // in text()
    bool is_string;     // else a whole number
  };
  /// What of text()[begin, end) strings say, and the numbers that reach into it, in order.
  std::vector<Part> parts(size_t begin, size_t end) const;

  struct Range {
    size_t begin, end;
  };
  /// Where a part stands in the source.
  Range origin(size_t begin, size_t end) const;

 private:
  struct Piece {
    size_t at;      // in text_
    size_t from;    // in source_
    size_t escape;  // its bytes there; 0: what follows stands there as it is
  };

  size_t unescape(size_t at);
  void keep(size_t begin, size_t end);
  const Piece& piece_at(size_t at) const;
  void add_numbers(size_t begin, size_t end, std::vector<Part>& out) const;

  std::string_view source_;
  std::string text_;
  std::vector<Piece> pieces_;   // in order; none where there is no escape
  std::vector<Range> strings_;  // between their quotes, in text()
};

}  // namespace signalbox::request
