// The pattern matches at every position, so the words are contiguous. Each step finds the end of a
// run of one class. A table of 256 bytes classifies ASCII; it assigns no class to other bytes.

#include "tokenizer/split/gpt2_splitter.h"

#include <array>

#include "base/utf8.h"

namespace signalbox::tokenizer {
namespace {

using unicode::Class;

constexpr Class kNotAscii = static_cast<Class>(4);

const std::array<Class, 256> kByteClasses = [] {
  std::array<Class, 256> table;
  table.fill(kNotAscii);
  for (char32_t c = 0; c < 0x80; ++c) {
    const char32_t lower = c | 0x20;
    table[c] = unicode::is_whitespace(c)      ? Class::kSpace
               : c >= '0' && c <= '9'         ? Class::kNumber
               : lower >= 'a' && lower <= 'z' ? Class::kLetter
                                              : Class::kOther;
  }
  return table;
}();

// Scans one word of a text from left to right.
class Scanner {
 public:
  Scanner(const unicode::ClassTable& classes, std::string_view text)
      : classes_(classes), text_(text) {}

  // Returns the end of the match that begins at `begin`.
  uint32_t match_end(uint32_t begin) const {
    if (text_[begin] == '\'') {
      const uint32_t bytes = contraction(text_.substr(begin + 1, 2));
      if (bytes > 0) return begin + 1 + bytes;
    }
    const Step first = step(begin);
    if (first.found != Class::kSpace) return run_end(first.end, first.found);
    if (text_[begin] == ' ' && first.end < text_.size()) {
      const Step second = step(first.end);
      if (second.found != Class::kSpace) return run_end(second.end, second.found);
    }
    return spaces_end(first.end);
  }

 private:
  struct Step {
    uint32_t end;
    Class found;
  };

  Step step(uint32_t begin) const {
    const Class found = kByteClasses[static_cast<unsigned char>(text_[begin])];
    if (found != kNotAscii) return {begin + 1, found};
    const utf8::Decoded decoded = utf8::decode(text_, begin);
    return {begin + decoded.bytes, classes_.of(decoded.code_point)};
  }

  uint32_t run_end(uint32_t end, Class run) const {
    while (end < text_.size()) {
      const Class found = kByteClasses[static_cast<unsigned char>(text_[end])];
      if (found == run) {
        ++end;
        continue;
      }
      if (found != kNotAscii) break;
      const Step next = step(end);
      if (next.found != run) break;
      end = next.end;
    }
    return end;
  }

  // Matches \s+(?!\S)|\s+ after the first space was read: if other characters follow, the last
  // space is left to the next match, unless it is the only one.
  uint32_t spaces_end(uint32_t end) const {
    uint32_t last = end;  // beginning of the last space; while there is only one, its end
    while (end < text_.size()) {
      const Step next = step(end);
      if (next.found != Class::kSpace) return last;
      last = end;
      end = next.end;
    }
    return end;
  }

  // Returns how many of these bytes form a contraction after an apostrophe. Lower case only.
  static uint32_t contraction(std::string_view rest) {
    if (rest.empty()) return 0;
    if (rest[0] == 's' || rest[0] == 't' || rest[0] == 'm' || rest[0] == 'd') return 1;
    return rest == "re" || rest == "ve" || rest == "ll" ? 2 : 0;
  }

  const unicode::ClassTable& classes_;
  std::string_view text_;
};

}  // namespace

void Gpt2Splitter::split(std::string_view text, Span word, std::vector<Span>& words) const {
  const Scanner scanner(classes_, text.substr(0, word.end));
  for (uint32_t begin = word.begin; begin < word.end;) {
    const uint32_t end = scanner.match_end(begin);
    words.push_back({begin, end});
    begin = end;
  }
}

}  // namespace signalbox::tokenizer
