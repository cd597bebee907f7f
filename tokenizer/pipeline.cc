// Text is taken in stretches of a few kilobytes, cut before a space, so that the intermediate text
// stays in the first cache and truncation ends the work early. That is exact: no stage looks across
// a space. Tokens that are looked for in normalised text may hold spaces; with those, a text is
// taken whole.

#include "tokenizer/pipeline.h"

#include "base/error.h"
#include "tokenizer/pretokenizer.h"

namespace signalbox::tokenizer {
namespace {

constexpr size_t kStretchBytes = 2048;  // with its alignment, 18 KB
constexpr size_t kScratchBytesKept = size_t{1}
                                     << 20;  // a thread gives back what one huge text took

size_t stretch_end(std::string_view text, size_t begin) {
  if (text.size() - begin <= kStretchBytes) return text.size();
  return std::min(text.find_first_of(" \n", begin + kStretchBytes), text.size());
}

}  // namespace

struct Pipeline::Scratch {
  Normalized normalized;
  std::vector<Span> words;
  std::vector<Token> first;
  std::vector<Token> second;

  void trim() {
    const size_t bytes = normalized.source.capacity() * sizeof(Span) +
                         words.capacity() * sizeof(Span) +
                         (first.capacity() + second.capacity()) * sizeof(Token);
    if (bytes > kScratchBytesKept) *this = {};
  }
};

Pipeline::Scratch& Pipeline::scratch() {
  static thread_local Scratch scratch;
  return scratch;
}

void Pipeline::encode(std::string_view text, const EncodeOptions& options, Encoding& out) const {
  Scratch& work = scratch();
  tokenize(text, parts_.postprocessor.single_room(options), work, work.first);
  parts_.postprocessor.single(work.first, options, out);
  work.trim();
}

void Pipeline::encode_pair(std::string_view first, std::string_view second,
                           const EncodeOptions& options, Encoding& out) const {
  Scratch& work = scratch();
  // Which text is cut, and where, depends on the length of both.
  tokenize(first, SIZE_MAX, work, work.first);
  tokenize(second, SIZE_MAX, work, work.second);
  parts_.postprocessor.pair(work.first, work.second, options, out);
  work.trim();
}

void Pipeline::tokenize(std::string_view text, size_t tokens_max, Scratch& scratch,
                        std::vector<Token>& tokens) const {
  SIGNALBOX_CHECK(text.size() < UINT32_MAX);
  tokens.clear();
  AddedTokens::Splitter parts(parts_.raw_tokens, text);
  while (tokens.size() < tokens_max) {
    const auto part = parts.next();
    if (!part) return;
    const auto begin = static_cast<uint32_t>(part->begin);
    if (part->id >= 0) {
      tokens.push_back({part->id, {begin, static_cast<uint32_t>(part->end)}});
    } else {
      tokenize_plain(text.substr(part->begin, part->end - part->begin), begin, tokens_max, scratch,
                     tokens);
    }
  }
}

void Pipeline::tokenize_plain(std::string_view text, uint32_t base, size_t tokens_max,
                              Scratch& scratch, std::vector<Token>& tokens) const {
  const bool whole = !parts_.normalized_tokens.empty();
  for (size_t begin = 0; begin < text.size() && tokens.size() < tokens_max;) {
    const size_t end = whole ? text.size() : stretch_end(text, begin);
    scratch.normalized.clear();
    parts_.normalizer.normalize(text.substr(begin, end - begin),
                                static_cast<uint32_t>(base + begin), scratch.normalized);
    tokenize_normalized(tokens_max, scratch, tokens);
    begin = end;
  }
}

void Pipeline::tokenize_normalized(size_t tokens_max, Scratch& scratch,
                                   std::vector<Token>& tokens) const {
  const Normalized& normalized = scratch.normalized;
  const std::string_view text = normalized.text;
  AddedTokens::Splitter parts(parts_.normalized_tokens, text);
  while (tokens.size() < tokens_max) {
    const auto part = parts.next();
    if (!part) return;
    const size_t placed = tokens.size();
    const Span span{static_cast<uint32_t>(part->begin), static_cast<uint32_t>(part->end)};
    if (part->id >= 0) {
      tokens.push_back({part->id, span});
    } else {
      scratch.words.clear();
      split_bert_words(text, span, scratch.words);
      for (const Span word : scratch.words) {
        if (tokens.size() >= tokens_max) break;
        parts_.model.tokenize(text, word, tokens);
      }
    }
    for (size_t i = placed; i < tokens.size(); ++i) {
      tokens[i].span = normalized.original(tokens[i].span);
    }
  }
}

}  // namespace signalbox::tokenizer
