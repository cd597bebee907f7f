// A recursive parser that writes the translated pattern while it reads. It rejects constructs that
// RE2 cannot execute, constructs that the two handle differently (case folding of two characters
// into one, such as ss to ß; repetition of a part that can be empty), and constructs that no known
// tokenizer uses.

#include "tokenizer/unicode/regex_syntax.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>

#include "base/utf8.h"
#include "tokenizer/hf/json_field.h"
#include "tokenizer/unicode/code_point_set.h"
#include "tokenizer/unicode/regex_classes.h"

namespace signalbox::tokenizer {
namespace {

constexpr int kDepthMax = 100;     // nested groups
constexpr int kRepeatsMax = 1000;  // RE2's limit

bool is_digit(char32_t c) {
  return c >= '0' && c <= '9';
}
bool is_hex_digit(char32_t c) {
  return is_digit(c) || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f');
}
bool is_letter(char32_t c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

std::optional<char> escaped_control(char32_t letter) {
  switch (letter) {
    case 't':
      return '\t';
    case 'n':
      return '\n';
    case 'v':
      return '\v';
    case 'f':
      return '\f';
    case 'r':
      return '\r';
    case 'a':
      return '\a';
    case 'e':
      return '\x1B';
    default:
      return std::nullopt;
  }
}

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  Result<TranslatedRegex> run() {
    SIGNALBOX_TRY(const bool may_be_empty, alternatives(0));
    if (at_ < pattern_.size()) return malformed("an unmatched )");
    return TranslatedRegex{std::move(out_), may_be_empty};
  }

 private:
  struct Escape {
    CodePointSet set;
    std::optional<char32_t> literal;  // set if the escape is a single character instead of a set
  };

  tl::unexpected<Error> refuse(Code code, std::string_view what) const {
    return fail(code, "{}: {} at byte {}", in_quotes(pattern_), what, at_);
  }
  tl::unexpected<Error> malformed(std::string_view what) const {
    return refuse(Code::kCorrupt, what);
  }
  tl::unexpected<Error> unsupported_here(std::string_view what) const {
    return refuse(Code::kUnsupported, fmt::format("{} is not supported,", what));
  }

  bool starts(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }
  bool take(std::string_view text) {
    if (!starts(text)) return false;
    at_ += text.size();
    return true;
  }
  char32_t take_code_point() {
    const utf8::Decoded decoded = utf8::decode(pattern_, at_);
    at_ += decoded.bytes;
    return decoded.code_point;
  }

  void write(char32_t c) { out_ += fmt::format("\\x{{{:X}}}", static_cast<uint32_t>(c)); }
  void write(const CodePointSet& set) {
    const auto ranges = set.ranges();
    out_ += ranges.empty() ? "[^\\x{0}-\\x{10FFFF}" : "[";
    for (const auto& [first, last] : ranges) {
      write(first);
      out_ += '-';
      write(last);
    }
    out_ += ']';
  }

  // These return true if the parsed part can match the empty string.
  Result<bool> alternatives(int depth);
  Result<bool> sequence(int depth);
  Result<bool> repeated(int depth);
  Result<bool> atom(int depth);
  Result<bool> group(int depth);
  Result<void> without_case(char32_t literal);
  Result<bool> repetition(bool may_be_empty);

  struct Interval {
    int least;
    int most;  // -1 for unlimited
    size_t end;
  };
  std::optional<Interval> interval() const;

  Result<void> bracket();
  Result<void> bracket_item(CodePointSet& set);
  Result<Escape> escape();
  Result<CodePointSet> property(bool negated);
  Result<char32_t> hexadecimal(size_t digits_least, size_t digits_most);

  std::string_view pattern_;
  size_t at_ = 0;
  std::string out_;
  bool without_case_ = false;
  char32_t folded_before_ = 0;  // the previous case-folded letter, in lower case
};

Result<bool> Translator::alternatives(int depth) {
  if (depth > kDepthMax) return refuse(Code::kTooLarge, "groups nested too deep");
  SIGNALBOX_TRY(bool may_be_empty, sequence(depth));
  while (take("|")) {
    out_ += '|';
    folded_before_ = 0;
    SIGNALBOX_TRY(const bool other, sequence(depth));
    may_be_empty |= other;
  }
  return may_be_empty;
}

Result<bool> Translator::sequence(int depth) {
  bool may_be_empty = true;
  // After a newline that ends the text, Oniguruma does not begin another line, but RE2 does. A
  // pattern that needs a character after the ^ is not affected.
  const bool at_line_begin = depth == 0 && take("^");
  if (at_line_begin) out_ += "(?m:^)";
  while (at_ < pattern_.size() && !starts("|") && !starts(")")) {
    SIGNALBOX_TRY(const bool part, repeated(depth));
    may_be_empty &= part;
  }
  if (at_line_begin && may_be_empty) return unsupported_here("a ^ before a part that can be empty");
  return may_be_empty;
}

Result<bool> Translator::repeated(int depth) {
  if (starts("^")) return unsupported_here("a ^ that is not first");
  if (take("$")) {
    out_ += "(?m:$)";
  } else if (take("\\A")) {
    out_ += "\\A";
  } else if (take("\\z")) {
    out_ += "\\z";
  } else {
    SIGNALBOX_TRY(const bool may_be_empty, atom(depth));
    return repetition(may_be_empty);
  }
  if (starts("*") || starts("+") || starts("?") || interval()) {
    return malformed("a repetition of an anchor");
  }
  return true;
}

Result<bool> Translator::atom(int depth) {
  if (starts("*") || starts("+") || starts("?") || interval()) {
    return malformed("a repetition without an operand");
  }
  if (take("(")) return group(depth);
  if (without_case_) {
    if (starts("[") || starts("\\") || starts("."))
      return unsupported_here("this in a case-insensitive group");
    SIGNALBOX_TRY_VOID(without_case(take_code_point()));
    return false;
  }
  if (take("[")) {
    SIGNALBOX_TRY_VOID(bracket());
  } else if (take(".")) {
    out_ += '.';
  } else if (starts("\\")) {
    const bool is_word = starts("\\w");
    const bool is_not_word = starts("\\W");
    SIGNALBOX_TRY(const Escape escaped, escape());
    if (escaped.literal) {
      write(*escaped.literal);
    } else if (is_word || is_not_word) {
      const CodePointSet word = regex_classes::word_outside_brackets();
      write(is_word ? word : word.complement());
    } else {
      write(escaped.set);
    }
  } else {
    write(take_code_point());
  }
  return false;
}

// Writes one character of a (?i:..).
Result<void> Translator::without_case(char32_t literal) {
  const char32_t lower = literal | 0x20;
  const bool folds = is_letter(literal);
  if (literal >= 0x80) return unsupported_here("this in a case-insensitive group");
  // pairs that fold to ligatures or ß
  for (const std::string_view pair : {"ff", "fi", "fl", "ss", "st"}) {
    if (folds && folded_before_ == static_cast<char32_t>(pair[0]) &&
        lower == static_cast<char32_t>(pair[1])) {
      return unsupported_here(fmt::format("{} in a case-insensitive group", pair));
    }
  }
  folded_before_ = folds ? lower : 0;
  CodePointSet set;
  set.add(literal, literal);
  if (folds) set.add(literal ^ 0x20, literal ^ 0x20);
  if (folds && lower == 's') set.add(0x17F, 0x17F);    // long s
  if (folds && lower == 'k') set.add(0x212A, 0x212A);  // Kelvin sign
  write(set);
  return {};
}

// Called after the opening parenthesis.
Result<bool> Translator::group(int depth) {
  if (starts("?=") || starts("?!")) return unsupported_here("look-ahead");
  if (starts("?<=") || starts("?<!")) return unsupported_here("look-behind");
  if (starts("?>")) return unsupported_here("an atomic group");
  const bool outer = without_case_;
  if (take("?<")) {
    const size_t end = pattern_.find('>', at_);
    if (end == std::string_view::npos || end == at_) return malformed("a group without a name");
    at_ = end + 1;
  } else if (take("?i:")) {
    without_case_ = true;
  } else if (starts("?") && !take("?:")) {
    return unsupported_here("this kind of group");
  }
  out_ += "(?:";
  SIGNALBOX_TRY(const bool may_be_empty, alternatives(depth + 1));
  without_case_ = outer;
  if (!take(")")) return malformed("an unclosed group");
  out_ += ')';
  return may_be_empty;
}

// Parses {n}, {n,}, {,m} or {n,m}. Anything else is plain text.
std::optional<Translator::Interval> Translator::interval() const {
  if (!starts("{")) return std::nullopt;
  size_t i = at_ + 1;
  const auto number = [&]() -> std::optional<int> {
    const size_t begin = i;
    int value = 0;
    for (; i < pattern_.size() && is_digit(static_cast<unsigned char>(pattern_[i])); ++i) {
      if (value <= kRepeatsMax) value = value * 10 + (pattern_[i] - '0');
    }
    return i > begin ? std::optional(value) : std::nullopt;
  };
  const auto least = number();
  std::optional<int> most = least;
  if (i < pattern_.size() && pattern_[i] == ',') {
    ++i;
    most = number();
    if (!least && !most) return std::nullopt;
    if (!most) most = -1;
  }
  if (!most || i >= pattern_.size() || pattern_[i] != '}') return std::nullopt;
  return Interval{least.value_or(0), *most, i + 1};
}

Result<bool> Translator::repetition(bool may_be_empty) {
  const bool was_empty = may_be_empty;
  bool is_plain = false;  // one of * + ?; a following + would make it possessive
  bool has_lazy = true;   // {n}? is not a lazy {n}
  if (take("?")) {
    out_ += '?';
    is_plain = may_be_empty = true;
  } else if (starts("*") || starts("+")) {
    if (was_empty) return unsupported_here("a repetition of a part that can be empty");
    may_be_empty = starts("*");
    out_ += pattern_[at_++];
    is_plain = true;
  } else if (const auto found = interval()) {
    if (was_empty) return unsupported_here("a repetition of a part that can be empty");
    if (found->least > kRepeatsMax || found->most > kRepeatsMax) {
      return refuse(Code::kTooLarge, fmt::format("over {} repetitions", kRepeatsMax));
    }
    if (found->most >= 0 && found->most < found->least) {
      return unsupported_here("an interval with reversed bounds");
    }
    at_ = found->end;
    has_lazy = found->least != found->most;
    may_be_empty = found->least == 0;
    out_ += fmt::format("{{{},", found->least);
    if (found->most >= 0) out_ += fmt::format("{}", found->most);
    out_ += '}';
  } else {
    return may_be_empty;
  }
  if (has_lazy && take("?")) out_ += '?';
  if (is_plain && starts("+")) return unsupported_here("possessive repetition");
  if (starts("*") || starts("+") || starts("?") || interval()) {
    return unsupported_here("a repetition of a repetition");
  }
  return may_be_empty;
}

// Called after the opening bracket.
Result<void> Translator::bracket() {
  const bool negated = take("^");
  if (starts("]")) return unsupported_here("a class that begins with ]");
  CodePointSet set;
  while (!take("]")) {
    if (at_ >= pattern_.size()) return malformed("an unclosed class");
    SIGNALBOX_TRY_VOID(bracket_item(set));
  }
  write(negated ? set.complement() : set);
  return {};
}

Result<void> Translator::bracket_item(CodePointSet& set) {
  if (take("[:")) {
    const bool negated = take("^");
    const size_t end = pattern_.find(":]", at_);
    const auto found = end == std::string_view::npos
                           ? std::nullopt
                           : regex_classes::posix(pattern_.substr(at_, end - at_));
    if (!found) return unsupported_here("this POSIX class");
    at_ = end + 2;
    set.add(negated ? found->complement() : *found);
    return {};
  }
  if (starts("[")) return unsupported_here("a class in a class");
  if (starts("&&")) return unsupported_here("an intersection of classes");
  const bool is_dash = starts("-");
  Escape first;
  if (starts("\\")) {
    SIGNALBOX_TRY(first, escape());
  } else {
    first.literal = take_code_point();
  }
  const bool is_last = starts("]");
  if (is_dash && !is_last && pattern_[at_ - 2] != '[' && pattern_.substr(at_ - 3, 2) != "[^") {
    return unsupported_here("a - inside a class");
  }
  if (!starts("-") || starts("-]")) {
    set.add(first.literal ? CodePointSet() : first.set);
    if (first.literal) set.add(*first.literal, *first.literal);
    return {};
  }
  ++at_;
  Escape last;
  if (starts("\\")) {
    SIGNALBOX_TRY(last, escape());
  } else if (starts("[") || starts("-") || at_ >= pattern_.size()) {
    return unsupported_here("this range");
  } else {
    last.literal = take_code_point();
  }
  if (!first.literal || !last.literal) return malformed("a range with a class at its end");
  if (*first.literal > *last.literal) return malformed("a reversed range");
  set.add(*first.literal, *last.literal);
  return {};
}

Result<Translator::Escape> Translator::escape() {
  const size_t begin = at_++;
  if (at_ >= pattern_.size()) return malformed("a trailing \\");
  const char32_t c = take_code_point();
  if (c == 'p' || c == 'P') {
    SIGNALBOX_TRY(CodePointSet set, property(c == 'P'));
    return Escape{std::move(set), std::nullopt};
  }
  if (c == 'x' && take("{")) {
    SIGNALBOX_TRY(const char32_t found, hexadecimal(1, 8));
    if (!take("}")) return malformed("\\x{ that is not closed");
    return Escape{{}, found};
  }
  if (c == 'x') {
    SIGNALBOX_TRY(const char32_t found, hexadecimal(1, 2));
    if (found >= 0x80) return unsupported_here("a byte that is not ASCII");
    return Escape{{}, found};
  }
  if (c == 'u') {
    SIGNALBOX_TRY(const char32_t found, hexadecimal(4, 4));
    return Escape{{}, found};
  }
  if (const auto control = escaped_control(c)) {
    return Escape{{}, static_cast<char32_t>(*control)};
  }
  if (auto set = regex_classes::escaped(c)) return Escape{std::move(*set), std::nullopt};
  if (c >= 'A' && c <= 'Z') {
    if (const auto set = regex_classes::escaped(c + ('a' - 'A')))
      return Escape{set->complement(), {}};
  }
  if (!is_letter(c) && !is_digit(c)) return Escape{{}, c};
  const size_t end = at_;
  at_ = begin;
  const bool refers = (c >= '1' && c <= '9') || c == 'k' || c == 'g';
  return unsupported_here(refers ? "a back reference"
                                 : fmt::format("{}", pattern_.substr(begin, end - begin)));
}

// Called after \p or \P.
Result<CodePointSet> Translator::property(bool negated) {
  if (!take("{")) return unsupported_here("\\p without {");
  if (take("^")) negated = !negated;
  const size_t end = pattern_.find('}', at_);
  const auto found = end == std::string_view::npos
                         ? std::nullopt
                         : regex_classes::category(pattern_.substr(at_, end - at_));
  if (!found) return unsupported_here("this property");
  at_ = end + 1;
  return negated ? found->complement() : *found;
}

Result<char32_t> Translator::hexadecimal(size_t digits_least, size_t digits_most) {
  char32_t value = 0;
  size_t digits = 0;
  while (digits < digits_most && at_ < pattern_.size() &&
         is_hex_digit(static_cast<unsigned char>(pattern_[at_]))) {
    const char c = pattern_[at_++];
    value = value << 4 | static_cast<char32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    ++digits;
  }
  if (digits < digits_least) return malformed("a code point without its digits");
  if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
    return malformed("a number that is not a code point");
  }
  return value;
}

}  // namespace

Result<TranslatedRegex> to_re2(std::string_view pattern) {
  return Translator(pattern).run();
}

}  // namespace signalbox::tokenizer
