// The checkers' own parser finds the ends of sentences. This file only decides from single bytes
// whether parsing is worthwhile.

#include "router/replies/reply_windows.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/utf8.h"
#include "router/text/facts.h"
#include "router/text/read_text.h"

namespace signalbox::replies {
namespace {

using text::ReadText;
using text::Sentence;

// The length of text that is searched for ends of sentences at a time.
constexpr size_t kReadBytesMax = 2 * ReplyText::kWindowBytesMax;
constexpr std::string_view kFence = "```";
constexpr std::string_view kOpenFence = "```\n";
constexpr std::string_view kSpaces = " \t\r\n";
// The last two are the first bytes of full stops and the like in other scripts.
constexpr std::string_view kEnds = ".!?\n\xE3\xEF";

size_t character_start(std::string_view text, size_t at) {
  constexpr size_t kContinuationsMax = 3;
  for (size_t back = 0; back <= std::min(kContinuationsMax, at) && at < text.size(); ++back) {
    if ((static_cast<unsigned char>(text[at - back]) & 0xC0) != 0x80) return at - back;
  }
  return at;
}

// True if an odd number of lines open or close a block of code. `line_start` means that the text
// begins a line.
bool toggles_code(std::string_view text, bool line_start) {
  bool odd = false;
  for (size_t at = text.find(kFence); at != std::string_view::npos;
       at = text.find(kFence, at + kFence.size())) {
    if (at == 0 ? line_start : text[at - 1] == '\n') odd = !odd;
  }
  return odd;
}

// The list that follows decides whether "There are three:" is true.
bool announces_list(const ReadText& text, const Sentence& sentence) {
  if (text.text()[sentence.end - 1] != ':') return false;
  text::Facts facts;
  text::read_facts(text, sentence, false, facts);
  return !facts.quantities.empty();
}

// A lone number may become the marker of an item.
bool may_be_item(const ReadText& text, const Sentence& sentence) {
  const bool number = sentence.last_token - sentence.first_token == 1 &&
                      text.at(sentence.first_token).kind == text::TokenKind::kNumber;
  return number || text::is_item(text, sentence);
}

}  // namespace

std::string_view name_of(ReplyState state) {
  switch (state) {
    case ReplyState::kOff:
      return "";
    case ReplyState::kClean:
      return "clean";
    case ReplyState::kFound:
      return "found";
    case ReplyState::kUnchecked:
      return "unchecked";
    case ReplyState::kUnverified:
      return "unverified";
  }
  return "";
}

void ReplyText::push(std::string_view text) {
  if (text.empty()) return;
  pending_.erase(0, taken_);
  taken_ = 0;
  pending_ += text;
  in_word_ = ascii::is_word_byte(text.back());
}

// The number of bytes up to the end of the last sentence that is followed by another; 0 if there is
// none.
size_t ReplyText::finished_bytes() const {
  const std::string_view rest = pending().substr(0, kReadBytesMax);
  const size_t end = rest.find_first_of(kEnds);
  if (end == std::string_view::npos ||
      rest.find_first_not_of(kSpaces, end + 1) == std::string_view::npos)
    return 0;
  std::string prefixed;
  if (code_) prefixed.append(kOpenFence).append(rest);
  const std::string_view whole = code_ ? std::string_view(prefixed) : rest;
  const ReadText text(whole);
  const std::vector<Sentence>& sentences = text.sentences();
  size_t ready = 0;
  bool in_list = false;
  for (size_t i = 0; i + 1 < sentences.size(); ++i) {
    const Sentence& sentence = sentences[i];
    in_list = (in_list && text::is_item(text, sentence)) ||
              (!sentence.code && announces_list(text, sentence));
    const bool goes_on = in_list && may_be_item(text, sentences[i + 1]);
    if (!goes_on) ready = sentence.end;
  }
  return ready - std::min(ready, whole.size() - rest.size());
}

// The place to cut text that has no end: after a space or, failing that, after a character.
size_t ReplyText::cut_bytes() const {
  const std::string_view rest = pending();
  if (rest.size() <= kWindowBytesMax) return rest.size();
  const std::string_view head = rest.substr(0, kWindowBytesMax);
  const size_t space = head.find_last_of(kSpaces);
  if (space != std::string_view::npos && space > kWindowBytesMax / 2) return space + 1;
  return character_start(rest, kWindowBytesMax);
}

void ReplyText::remember(std::string_view taken) {
  const bool line_start = before_.empty() || before_.back() == '\n';
  if (toggles_code(taken, line_start)) code_ = !code_;
  before_ += taken;
  if (before_.size() <= kBeforeBytesMax) return;
  const size_t drop = character_start(before_, before_.size() - kBeforeBytesMax);
  if (toggles_code(std::string_view(before_).substr(0, drop), true))
    before_in_code_ = !before_in_code_;
  before_.erase(0, drop);
}

std::optional<ReplyWindow> ReplyText::take(bool all) {
  size_t end = all ? cut_bytes() : finished_bytes();
  if (end == 0 && pending().size() > kWindowBytesMax) end = cut_bytes();
  if (end == 0) return std::nullopt;
  ReplyWindow out;
  out.choice = choice_;
  if (before_in_code_) out.before = kOpenFence;
  out.before += before_;
  out.text = pending().substr(0, end);
  out.begin = points_;
  points_ += utf8::count(out.text);
  remember(out.text);
  taken_ += end;
  return out;
}

bool ReplyText::pauses() const {
  const std::string_view rest = pending();
  const size_t last = rest.find_last_not_of(kSpaces);
  if (last == std::string_view::npos) return false;
  if (rest.find('\n', last) != std::string_view::npos) return true;
  const std::string_view text = rest.substr(0, last + 1);
  for (const std::string_view end : {"\u3002", "\uFF01", "\uFF1F"}) {
    if (text.ends_with(end)) return true;
  }
  const size_t end = text.find_last_not_of("\"')]*");
  return end != std::string_view::npos &&
         (text[end] == '.' || text[end] == '!' || text[end] == '?');
}

}  // namespace signalbox::replies
