// The categories are collected once, in one pass over all code points.

#include "tokenizer/unicode/regex_classes.h"

#include <array>
#include <cstddef>
#include <iterator>

#include "tokenizer/unicode/unicode.h"

namespace signalbox::tokenizer::regex_classes {
namespace {

// In the order of unicode::Category.
constexpr std::string_view kNames[] = {"Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd",
                                       "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm",
                                       "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co"};

using Categories = std::array<CodePointSet, std::size(kNames)>;

Categories gather() {
  constexpr char32_t kEnd = 0x110000;
  Categories out;
  for (char32_t first = 0, next; first < kEnd; first = next) {
    const unicode::Category category = unicode::category(first);
    next = first + 1;
    while (next < kEnd && unicode::category(next) == category) ++next;
    out[static_cast<size_t>(category)].add(first, next - 1);
  }
  return out;
}

CodePointSet white_space() {
  constexpr char32_t kLast = 0x3000;
  CodePointSet out;
  for (char32_t c = 0; c <= kLast; ++c) {
    if (unicode::is_whitespace(c)) out.add(c, c);
  }
  return out;
}

CodePointSet word() {
  CodePointSet out;
  for (const std::string_view name : {"L", "M", "Nd", "Nl", "Pc"}) out.add(*category(name));
  out.add(0x24B6, 0x24E9);  // circled and squared letters
  out.add(0x1F130, 0x1F149);
  out.add(0x1F150, 0x1F169);
  out.add(0x1F170, 0x1F189);
  return out;
}

CodePointSet hexadecimal_digits() {
  CodePointSet out;
  out.add('0', '9');
  out.add('A', 'F');
  out.add('a', 'f');
  return out;
}

}  // namespace

std::optional<CodePointSet> category(std::string_view name) {
  static const Categories categories = gather();
  std::optional<CodePointSet> out;
  for (size_t i = 0; i < categories.size(); ++i) {
    if (kNames[i] != name && kNames[i].substr(0, 1) != name) continue;
    if (!out) out.emplace();
    out->add(categories[i]);
  }
  return out;
}

std::optional<CodePointSet> escaped(char32_t letter) {
  switch (letter) {
    case 's':
      return white_space();
    case 'd':
      return category("Nd");
    case 'w':
      return word();
    case 'h':
      return hexadecimal_digits();
    default:
      return std::nullopt;
  }
}

std::optional<CodePointSet> posix(std::string_view name) {
  if (name == "digit") return category("Nd");
  if (name == "space") return white_space();
  if (name == "xdigit") return hexadecimal_digits();
  if (name == "word") return word();
  if (name == "cntrl") return category("Cc");
  if (name == "punct") {
    CodePointSet out = *category("P");
    out.add(*category("S"));
    return out;
  }
  return std::nullopt;
}

CodePointSet word_outside_brackets() {
  CodePointSet out = word();
  for (const char32_t c : {0xB2, 0xB3, 0xB9, 0xBC, 0xBD, 0xBE}) out.add(c, c);
  return out;
}

}  // namespace signalbox::tokenizer::regex_classes
