// One pass over the tokens; a place is looked at a few times at most.

#include "engine/windows.h"

#include <algorithm>
#include <string_view>

#include "base/ascii.h"

namespace signalbox::engine {
namespace {

enum class Break : uint8_t { kNone, kCharacter, kWord, kSentence, kLine, kParagraph };

constexpr size_t kSpacesMax = 64;  // bytes of white space that are looked at on either side

bool ends_sentence(std::string_view before) {
  constexpr std::string_view kWide[] = {"\u3002", "\uFF01", "\uFF1F", "\u0964", "\u061F", "\u06D4"};
  if (before.empty()) return false;
  return std::string_view(".!?:;").find(before.back()) != std::string_view::npos ||
         std::any_of(std::begin(kWide), std::end(kWide),
                     [&](std::string_view mark) { return before.ends_with(mark); });
}

// What ends at byte `at`.
Break break_at(std::string_view text, size_t at) {
  size_t begin = at, end = at;
  while (begin > 0 && at - begin < kSpacesMax && ascii::is_space(text[begin - 1])) --begin;
  while (end < text.size() && end - at < kSpacesMax && ascii::is_space(text[end])) ++end;
  const std::string_view spaces = text.substr(begin, end - begin);
  const auto lines = std::count(spaces.begin(), spaces.end(), '\n');
  if (lines > 1) return Break::kParagraph;
  if (lines == 1) return Break::kLine;
  const std::string_view before = text.substr(0, begin);
  const bool is_ascii = !before.empty() && static_cast<unsigned char>(before.back()) < 0x80;
  if (ends_sentence(before) && (!spaces.empty() || !is_ascii)) return Break::kSentence;
  return spaces.empty() ? Break::kCharacter : Break::kWord;
}

class Cutter {
 public:
  Cutter(std::string_view text, std::span<const tokenizer::Span> offsets)
      : text_(text), offsets_(offsets) {}

  size_t position(size_t token) const {
    return token == 0 ? 0 : token == offsets_.size() ? text_.size() : offsets_[token].begin;
  }

  // Before which token in [first, last] to cut: of the best places the first or the last one.
  size_t best(size_t first, size_t last, bool earliest) const {
    size_t out = last;
    Break found = break_before(last);
    for (size_t token = last; token-- > first;) {
      const Break here = break_before(token);
      if (here < found || (here == found && !earliest)) continue;
      out = token;
      found = here;
    }
    return out;
  }

 private:
  // kNone inside a character.
  Break break_before(size_t token) const {
    if (token == 0 || offsets_[token].begin < offsets_[token - 1].end) return Break::kNone;
    return break_at(text_, offsets_[token].begin);
  }

  std::string_view text_;
  std::span<const tokenizer::Span> offsets_;
};

}  // namespace

std::vector<std::string_view> cut_windows(std::string_view text,
                                          std::span<const tokenizer::Span> offsets, size_t room,
                                          size_t overlap) {
  std::vector<std::string_view> out;
  const Cutter cutter(text, offsets);
  for (size_t begin = 0; begin < offsets.size();) {
    const bool is_last = offsets.size() - begin <= room;
    const size_t end =
        is_last ? offsets.size() : cutter.best(begin + room / 2 + 1, begin + room, false);
    const size_t from = cutter.position(begin);
    out.push_back(text.substr(from, cutter.position(end) - from));
    begin = is_last ? end : cutter.best(end - overlap, end, true);
  }
  return out;
}

}  // namespace signalbox::engine
