// A pattern R|\s+(?!\S)|\s+ matches R if R matches at a position. If R does not match and white
// space begins there, \s+ consumes all of it up to an end e, which is the end of the text or is
// followed by \S. At the end of the text the look-ahead succeeds and the match is the whole run.
// Before \S it fails at e but succeeds one character earlier, so the match ends there. If that
// leaves \s+ empty, the last alternative matches the single character. The implementation therefore
// searches for R, and the first white space before R's match is a match by this rule. R's match is
// reused until the search begins behind it, which keeps the total linear, unlike a backtracking
// matcher.

#include "tokenizer/split/regex_splitter.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "tokenizer/unicode/unicode.h"

namespace signalbox::tokenizer {
namespace {

constexpr std::string_view kTail = R"(|\s+(?!\S)|\s+)";

// Patterns that match at every position and in which a space is either the first character of a
// match or part of white space, so that a lone space always begins a match. With other patterns a
// text is processed as a whole.
constexpr std::array kLocalPatterns = {
    // GPT-4 (cl100k), Llama 3
    std::string_view(
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"),
    // Qwen
    std::string_view(
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"),
    // GPT-4o (o200k)
    std::string_view(
        R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"),
    // GPT-2
    std::string_view(
        R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"),
};

// Returns the end of the match for white space that begins at `begin`, by the rule above.
size_t spaces_end(std::string_view text, size_t begin) {
  size_t last = begin;
  for (size_t i = begin; i < text.size();) {
    const utf8::Decoded decoded = utf8::decode(text, i);
    if (!unicode::is_whitespace(decoded.code_point)) return last == begin ? i : last;
    last = i;
    i += decoded.bytes;
  }
  return text.size();
}

// Iterates over the matches of a pattern with the tail, from left to right.
class TailedMatches {
 public:
  TailedMatches(const Regex& head, std::string_view text) : head_(head), text_(text) {}

  std::optional<Span> next() {
    while (from_ <= text_.size()) {
      const auto found = find();
      if (!found) break;
      if (found->begin == found->end && last_end_ == found->end) {
        if (from_ == text_.size()) break;
        from_ += utf8::decode(text_, from_).bytes;
        continue;
      }
      last_end_ = from_ = found->end;
      return found;
    }
    return std::nullopt;
  }

 private:
  std::optional<Span> find() {
    if (!searched_ || (head_found_ && head_found_->begin < from_)) {
      head_found_ = head_.find(text_, from_);
      searched_ = true;
    }
    const size_t end = head_found_ ? head_found_->begin : text_.size();
    for (size_t i = from_; i < end;) {
      const utf8::Decoded decoded = utf8::decode(text_, i);
      if (unicode::is_whitespace(decoded.code_point)) {
        return Span{static_cast<uint32_t>(i), static_cast<uint32_t>(spaces_end(text_, i))};
      }
      i += decoded.bytes;
    }
    return head_found_;
  }

  const Regex& head_;
  std::string_view text_;
  bool searched_ = false;
  std::optional<Span> head_found_;
  size_t from_ = 0;
  size_t last_end_ = std::string_view::npos;  // end of the previous match
};

}  // namespace

RegexSplitter::RegexSplitter(Regex regex, bool takes_spaces, Behavior behavior, bool invert,
                             bool cuts_at_spaces)
    : regex_(std::move(regex)),
      takes_spaces_(takes_spaces),
      behavior_(behavior),
      invert_(invert),
      cuts_at_spaces_(cuts_at_spaces) {}

Result<RegexSplitter> RegexSplitter::compile(std::string_view pattern, Behavior behavior,
                                             bool invert) {
  const bool has_tail = pattern.ends_with(kTail);
  const std::string_view head =
      has_tail ? pattern.substr(0, pattern.size() - kTail.size()) : pattern;
  SIGNALBOX_TRY(Regex regex, Regex::compile(head));
  // This requires that each match becomes its own word.
  const bool one_by_one =
      behavior == Behavior::kIsolated || (behavior == Behavior::kRemoved && invert);
  const bool cuts_at_spaces = one_by_one && std::find(kLocalPatterns.begin(), kLocalPatterns.end(),
                                                      pattern) != kLocalPatterns.end();
  return RegexSplitter(std::move(regex), has_tail, behavior, invert, cuts_at_spaces);
}

void RegexSplitter::split(std::string_view text, Span word, std::vector<Span>& words) const {
  DelimiterWalk walk(behavior_, invert_, word, words);
  const auto match = [&](Span found) {
    walk.match({word.begin + found.begin, word.begin + found.end});
  };
  text = text.substr(word.begin, word.end - word.begin);
  if (takes_spaces_) {
    TailedMatches matches(regex_, text);
    while (const auto found = matches.next()) match(*found);
  } else {
    std::vector<Span> matches;
    regex_.find_all(text, matches);
    for (const Span found : matches) match(found);
  }
  walk.finish();
}

}  // namespace signalbox::tokenizer
