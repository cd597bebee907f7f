// Matching narrows a range of the sorted contents byte by byte, which is a trie walk without
// building a trie. At almost every position, checking two bytes is enough to rule out a token.

#include "tokenizer/added_tokens.h"

#include <algorithm>

#include "base/utf8.h"
#include "tokenizer/unicode/unicode.h"

namespace signalbox::tokenizer {
namespace {

unsigned char byte_at(std::string_view text, size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// Decodes the code point that ends at `end`, or returns U+FFFD if the bytes before it are invalid.
// Requires end > 0.
utf8::Decoded decode_before(std::string_view text, size_t end) {
  for (uint32_t bytes = 1; bytes <= 4 && bytes <= end; ++bytes) {
    if ((byte_at(text, end - bytes) & 0xC0) == 0x80) continue;
    const utf8::Decoded decoded = utf8::decode(text, end - bytes);
    if (decoded.bytes == bytes) return decoded;
    break;
  }
  return {utf8::kReplacement, 1};
}

bool touches_word(std::string_view text, size_t begin, size_t end) {
  return (begin > 0 && unicode::is_word(decode_before(text, begin).code_point)) ||
         (end < text.size() && unicode::is_word(utf8::decode(text, end).code_point));
}

// Returns true if the content has a lone space (or the mark that replaces it) next to other
// characters or as the whole content. A run of several spaces has no lone space.
bool holds_lone_space(std::string_view content) {
  for (const std::string_view mark : {std::string_view(" "), std::string_view("\xE2\x96\x81")}) {
    if (content.find(mark) == std::string_view::npos) continue;
    if (content.size() == mark.size() || content.size() % mark.size() != 0) return true;
    for (size_t i = 0; i < content.size(); i += mark.size()) {
      if (content.substr(i, mark.size()) != mark) return true;
    }
  }
  return false;
}

size_t spaces_begin(std::string_view text, size_t end, size_t limit) {
  while (end > limit) {
    const utf8::Decoded before = decode_before(text, end);
    if (!unicode::is_whitespace(before.code_point)) break;
    end -= before.bytes;
  }
  return std::max(end, limit);
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::sort(tokens_.begin(), tokens_.end(),
            [](const AddedToken& a, const AddedToken& b) { return a.content < b.content; });
  by_first_byte_.resize(256);
  by_first_two_.resize(size_t{256} * 256);
  for (uint32_t i = 0; i < tokens_.size(); ++i) {
    Bucket& bucket = by_first_byte_[byte_at(tokens_[i].content, 0)];
    if (bucket.end == 0) bucket.begin = i;
    bucket.end = i + 1;
    const auto first = by_first_two_.begin() + (byte_at(tokens_[i].content, 0) << 8);
    if (tokens_[i].content.size() == 1) {
      std::fill_n(first, 256, true);
    } else {
      first[byte_at(tokens_[i].content, 1)] = true;
    }
  }
}

bool AddedTokens::may_begin_at(std::string_view text, size_t position) const {
  return position + 1 == text.size() ||
         by_first_two_[static_cast<size_t>(byte_at(text, position)) << 8 |
                       byte_at(text, position + 1)];
}

bool AddedTokens::is_local() const {
  return std::all_of(tokens_.begin(), tokens_.end(), [](const AddedToken& token) {
    return !token.lstrip && !token.rstrip && !token.single_word && !holds_lone_space(token.content);
  });
}

const AddedToken* AddedTokens::longest_at(std::string_view text, size_t position) const {
  const Bucket bucket = by_first_byte_[byte_at(text, position)];
  auto first = tokens_.begin() + bucket.begin;
  auto last = tokens_.begin() + bucket.end;
  const AddedToken* found = nullptr;
  for (size_t depth = 1; first != last; ++depth) {
    // All contents in the range share their first `depth` bytes; the shortest sorts first.
    if (first->content.size() == depth) found = &*first++;
    if (first == last || position + depth >= text.size()) break;
    const unsigned char byte = byte_at(text, position + depth);
    first = std::partition_point(
        first, last, [&](const AddedToken& token) { return byte_at(token.content, depth) < byte; });
    last = std::partition_point(first, last, [&](const AddedToken& token) {
      return byte_at(token.content, depth) == byte;
    });
  }
  return found;
}

std::optional<AddedTokens::Part> AddedTokens::Splitter::next() {
  if (held_) {
    const Part token = *held_;
    held_.reset();
    return token;
  }
  std::optional<Part> token = next_token();
  const size_t text_begin = part_;
  const size_t text_end = token ? token->begin : text_.size();
  part_ = token ? token->end : text_.size();
  if (text_begin >= text_end) return token;
  held_ = token;
  return Part{text_begin, text_end, -1};
}

std::optional<AddedTokens::Part> AddedTokens::Splitter::next_token() {
  if (tokens_.tokens_.empty()) return std::nullopt;
  while (search_ < text_.size()) {
    if (!tokens_.may_begin_at(text_, search_)) {
      ++search_;
      continue;
    }
    const AddedToken* token = tokens_.longest_at(text_, search_);
    if (token == nullptr) {
      ++search_;
      continue;
    }
    size_t begin = search_;
    size_t end = begin + token->content.size();
    search_ = end;
    if (token->single_word && touches_word(text_, begin, end)) continue;
    // An adjacent token may have absorbed the white space already. The next match may still begin
    // inside white space absorbed here, and then two tokens share it, as in the reference.
    if (token->lstrip) begin = std::max(spaces_begin(text_, begin, part_), part_);
    if (token->rstrip) end = spaces_end(end);
    if (begin < end) return Part{begin, end, token->id};
  }
  return std::nullopt;
}

// Remembers the run, so that many tokens inside one run of white space need one scan.
size_t AddedTokens::Splitter::spaces_end(size_t begin) {
  if (begin >= spaces_begin_ && begin < spaces_end_) return spaces_end_;
  spaces_begin_ = spaces_end_ = begin;
  while (spaces_end_ < text_.size()) {
    const utf8::Decoded decoded = utf8::decode(text_, spaces_end_);
    if (!unicode::is_whitespace(decoded.code_point)) break;
    spaces_end_ += decoded.bytes;
  }
  return spaces_end_;
}

}  // namespace signalbox::tokenizer
