// Copies the text between the matches.

#include "tokenizer/normalize/replace.h"

#include <algorithm>

namespace signalbox::tokenizer {
namespace {

constexpr std::string_view kSpaceMark = "\u2581";

// Copies the text before a match and appends the content in its place.
void replace(const TextView& in, uint32_t from, Span match, std::string_view content,
             Normalized& out) {
  in.copy_to(out, {from, match.begin});
  const uint32_t last = last_code_point(in.text(), match.end);
  out.append(content, in.source(last, match.end - last));
}

}  // namespace

bool ReplaceString::keeps(std::string_view text) const {
  return text.find(pattern_) == std::string_view::npos;
}

void ReplaceString::normalize(const TextView& in, Normalized& out) const {
  const std::string_view text = in.text();
  const auto size = static_cast<uint32_t>(pattern_.size());
  uint32_t from = 0;
  for (size_t found; (found = text.find(pattern_, from)) != std::string_view::npos;) {
    const auto begin = static_cast<uint32_t>(found);
    replace(in, from, {begin, begin + size}, content_, out);
    from = begin + size;
  }
  in.copy_to(out, {from, static_cast<uint32_t>(text.size())});
}

bool ReplaceString::marks_spaces() const {
  return pattern_ == " " && content_ == kSpaceMark;
}

// Local patterns either keep a lone space or replace it by its usual mark. Any other pattern must
// not span such a position, nor put a space next to it or remove the neighbouring characters.
bool ReplaceString::is_local() const {
  if (pattern_ == " ") return content_ == " " || marks_spaces();
  if (pattern_.find(' ') != std::string::npos || pattern_.find(kSpaceMark) != std::string::npos) {
    return false;
  }
  return !content_.empty() && std::all_of(content_.begin(), content_.end(), is_ascii_mark);
}

bool ReplaceRegex::keeps(std::string_view text) const {
  return !pattern_.is_in(text);
}

void ReplaceRegex::normalize(const TextView& in, Normalized& out) const {
  std::vector<Span> matches;
  pattern_.find_all(in.text(), matches);
  uint32_t from = 0;
  for (const Span match : matches) {
    replace(in, from, match, content_, out);
    from = match.end;
  }
  in.copy_to(out, {from, static_cast<uint32_t>(in.text().size())});
}

}  // namespace signalbox::tokenizer
