// Text is taken in stretches of a few kilobytes, cut before a space, so that the intermediate text
// stays in the first cache and truncation ends the work early. That is exact: no stage looks across
// a space. Tokens that are looked for in normalised text may hold spaces; with those, a text is
// taken whole.

#include "tokenizer/pipeline.h"

#include "base/error.h"
#include "tokenizer/pretokenizer.h"

#include <algorithm>

namespace signalbox::tokenizer {
namespace {

constexpr size_t kStretchBytes = 2048;  // with its alignment, 18 KB
// A thread gives back what a text larger than any model reads has taken.
constexpr size_t kScratchBytesKept = size_t{1} << 20;

size_t stretch_end(std::string_view text, size_t begin) {
  if (text.size() - begin <= kStretchBytes) return text.size();
  return std::min(text.find_first_of(" \n", begin + kStretchBytes), text.size());
}

}  // namespace

// Tokens of one text, and whether they are enough. That is asked after each word and not after an
// added token: the reference's rule, which decides what text of a pair it finds the longer.
struct Pipeline::Output {
  std::vector<Token> tokens;
  std::vector<Span> words;  // of the stretch at hand
  size_t tokens_enough = 0;
  bool full = false;

  void reset(size_t enough) {
    tokens.clear();
    tokens_enough = enough;
    full = false;
  }
};

struct Pipeline::Scratch {
  Normalized normalized;
  Output first;
  Output second;

  void trim() {
    const size_t bytes = normalized.source.capacity() * sizeof(Span) +
                         (first.words.capacity() + second.words.capacity()) * sizeof(Span) +
                         (first.tokens.capacity() + second.tokens.capacity()) * sizeof(Token);
    if (bytes > kScratchBytesKept) *this = {};
  }
};

Pipeline::Scratch& Pipeline::scratch() {
  static thread_local Scratch scratch;
  return scratch;
}

void Pipeline::encode(std::string_view text, const EncodeOptions& options, Encoding& out) const {
  Scratch& work = scratch();
  work.first.reset(parts_.postprocessor.single_room(options));
  tokenize(text, work.normalized, work.first);
  parts_.postprocessor.single(work.first.tokens, options, out);
  work.trim();
}

void Pipeline::encode_pair(std::string_view first, std::string_view second,
                           const EncodeOptions& options, Encoding& out) const {
  Scratch& work = scratch();
  // Not the room beside the special tokens: which text is cut depends on the lengths, seen as far
  // as this.
  const size_t enough = options.tokens_max > 0 ? static_cast<size_t>(options.tokens_max) : SIZE_MAX;
  work.first.reset(enough);
  work.second.reset(enough);
  tokenize(first, work.normalized, work.first);
  tokenize(second, work.normalized, work.second);
  parts_.postprocessor.pair(work.first.tokens, work.second.tokens, options, out);
  work.trim();
}

void Pipeline::tokenize(std::string_view text, Normalized& normalized, Output& out) const {
  SIGNALBOX_CHECK(text.size() < UINT32_MAX);
  AddedTokens::Splitter parts(parts_.raw_tokens, text);
  while (!out.full) {
    const auto part = parts.next();
    if (!part) return;
    const auto begin = static_cast<uint32_t>(part->begin);
    if (part->id >= 0) {
      out.tokens.push_back({part->id, {begin, static_cast<uint32_t>(part->end)}});
    } else {
      tokenize_plain(text.substr(part->begin, part->end - part->begin), begin, normalized, out);
    }
  }
}

void Pipeline::tokenize_plain(std::string_view text, uint32_t base, Normalized& normalized,
                              Output& out) const {
  const bool whole = !parts_.normalized_tokens.empty();
  for (size_t begin = 0; begin < text.size() && !out.full;) {
    const size_t end = whole ? text.size() : stretch_end(text, begin);
    normalized.clear();
    parts_.normalizer.normalize(text.substr(begin, end - begin),
                                static_cast<uint32_t>(base + begin), normalized);
    tokenize_normalized(normalized, out);
    begin = end;
  }
}

void Pipeline::tokenize_normalized(const Normalized& normalized, Output& out) const {
  AddedTokens::Splitter parts(parts_.normalized_tokens, normalized.text);
  while (!out.full) {
    const auto part = parts.next();
    if (!part) return;
    const size_t placed = out.tokens.size();
    const Span span{static_cast<uint32_t>(part->begin), static_cast<uint32_t>(part->end)};
    if (part->id >= 0) {
      out.tokens.push_back({part->id, span});
    } else {
      out.words.clear();
      split_bert_words(normalized.text, span, out.words);
      for (const Span word : out.words) {
        parts_.model.tokenize(normalized.text, word, out.tokens);
        out.full = out.tokens.size() >= out.tokens_enough;
        if (out.full) break;
      }
    }
    for (size_t i = placed; i < out.tokens.size(); ++i) {
      out.tokens[i].span = normalized.original(out.tokens[i].span);
    }
  }
}

}  // namespace signalbox::tokenizer
