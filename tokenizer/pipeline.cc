// If no stage looks across a lone space (determined when the file is read), text is processed in
// stretches of a few kilobytes split there. The intermediate text then stays in the first-level
// cache, a prompt of any length needs little memory, and truncation stops early. Otherwise a text
// is processed as a whole.

#include "tokenizer/pipeline.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "tokenizer/scratch.h"

namespace signalbox::tokenizer {
namespace {

constexpr size_t kStretchBytes = 2048;  // 18 KB including its alignment
// A thread releases scratch memory beyond this size, which only texts larger than any model's input
// need.
constexpr size_t kScratchBytesKept = size_t{1} << 20;

// Returns the end of a stretch: before a lone space, or the end of the text.
size_t stretch_end(std::string_view text, size_t begin) {
  for (size_t i = begin + kStretchBytes; i + 1 < text.size(); ++i) {
    i = text.find(' ', i);
    if (i == std::string_view::npos) break;
    if (i + 1 < text.size() && is_ascii_mark(text[i - 1]) && is_ascii_mark(text[i + 1])) return i;
  }
  return text.size();
}

Pipeline::Locality locality_of(const Pipeline::Parts& parts) {
  bool local = parts.normalized_tokens.is_local();
  bool cut = false;
  auto form = SpaceForm::kSpace;
  for (size_t i = 0; i < parts.normalizers.size(); ++i) {
    local &= i == 0 || parts.normalizers[i]->is_local();  // the first normalizer is checked for
                                                          // each text
    if (parts.normalizers[i]->marks_spaces()) form = SpaceForm::kMark;
  }
  for (const PretokenizerStep& step : parts.pretokenizer.steps) {
    local &= step.splitter ? step.splitter->is_local(form) : step.rewriter->is_local(form);
    cut |= step.splitter && step.splitter->cuts_at_spaces(form);
    if (step.rewriter) form = step.rewriter->after(form);
  }
  if (!local) return Pipeline::Locality::kWhole;
  if (cut) return Pipeline::Locality::kWords;
  return parts.model->is_local() ? Pipeline::Locality::kModel : Pipeline::Locality::kWhole;
}

size_t bytes_of(const Normalized& normalized) {
  return normalized.text.capacity() + normalized.source.capacity() * sizeof(Span);
}

size_t bytes_of(const UnigramScratch& scratch) {
  return scratch.best.capacity() * sizeof(UnigramScratch::Best) +
         scratch.tokens.capacity() * sizeof(Token);
}

size_t bytes_of(const BpeScratch& scratch) {
  return scratch.spelled.capacity() + scratch.symbols.capacity() * sizeof(BpeScratch::Symbol) +
         scratch.queue.capacity() * sizeof(BpeScratch::Candidate);
}

}  // namespace

// The tokens of one text, and whether there are enough. This is checked after each word but not
// after an added token. That is the reference's rule, and it affects which text of a pair counts as
// longer. The reference checks from the side that is kept.
struct Pipeline::Output {
  std::vector<Token> tokens;
  std::vector<Spaces> spaces;         // (tokens), if the post-processor trims
  std::vector<uint32_t> word_begins;  // token indices, if tokens are counted from the right
  std::optional<uint32_t> open_word;  // beginning of a word that continues in the next stretch
  size_t tokens_enough = 0;
  size_t tokens_at_enough = SIZE_MAX;
  TruncationSide side = TruncationSide::kRight;
  bool stops = false;   // stop when there are enough tokens
  bool counts = false;  // the token count determines the truncation
  bool full = false;

  void reset(size_t enough, TruncationSide cut, bool stops_at_enough) {
    tokens.clear();
    spaces.clear();
    word_begins.clear();
    open_word.reset();
    tokens_enough = enough;
    tokens_at_enough = SIZE_MAX;
    side = cut;
    stops = stops_at_enough && side == TruncationSide::kRight;
    counts = false;
    full = false;
  }

  // Ends a word. Its tokens begin at `begin`.
  void finish_word(uint32_t begin) {
    if (side == TruncationSide::kLeft) {
      word_begins.push_back(begin);
    } else if (tokens.size() >= tokens_enough) {
      tokens_at_enough = std::min(tokens_at_enough, tokens.size());
      full = stops;
    }
  }

  // Continues a word over several stretches. If the token count matters, encoding must not stop
  // inside the word.
  void continue_word(uint32_t begin, bool may_stop) {
    if (!open_word) open_word = begin;
    full = may_stop && stops && tokens.size() >= tokens_enough;
  }
  void close_word() {
    if (open_word) finish_word(*open_word);
    open_word.reset();
  }

  // Returns the number of tokens that the reference would count for this text.
  size_t counted() const {
    for (auto begin = word_begins.rbegin(); begin != word_begins.rend(); ++begin) {
      if (tokens.size() - *begin >= tokens_enough) return tokens.size() - *begin;
    }
    return std::min(tokens_at_enough, tokens.size());
  }

  size_t bytes() const {
    return tokens.capacity() * sizeof(Token) + spaces.capacity() * sizeof(Spaces) +
           word_begins.capacity() * sizeof(uint32_t);
  }

  TokenizedText of(std::string_view text) const { return {text, tokens, spaces, counted()}; }
};

// Each stage alternates between two buffers for input and output.
struct Pipeline::Scratch {
  Normalized normalized[2];
  Normalized rewritten[2];
  std::vector<Span> words;
  std::vector<Span> words_next;
  ModelScratch model;
  Output first;
  Output second;

  void trim() {
    size_t bytes = (words.capacity() + words_next.capacity()) * sizeof(Span) + first.bytes() +
                   second.bytes() + bytes_of(model.bpe) + bytes_of(model.unigram);
    for (const auto& pair : {std::cref(normalized), std::cref(rewritten)}) {
      bytes += bytes_of(pair.get()[0]) + bytes_of(pair.get()[1]);
    }
    if (bytes <= kScratchBytesKept) return;
    WordCache seen = std::move(model.words);  // has a fixed size
    *this = {};
    model.words = std::move(seen);
  }
};

Pipeline::Pipeline(Parts parts) : parts_(std::move(parts)), locality_(locality_of(parts_)) {}

Pipeline::Scratch& Pipeline::scratch() {
  static thread_local Scratch scratch;
  return scratch;
}

void Pipeline::encode(std::string_view text, const EncodeOptions& options, Encoding& out) const {
  Scratch& work = scratch();
  work.first.reset(parts_.postprocessor.single_room(options), options.side, true);
  tokenize(text, work, work.first);
  parts_.postprocessor.single(work.first.of(text), options, out);
  work.trim();
}

void Pipeline::encode_windows(std::string_view text, const EncodeOptions& options,
                              const TakeWindow& take) const {
  Output output;  // a local object, because the caller may encode while it handles a window
  output.reset(SIZE_MAX, options.side, false);
  tokenize(text, scratch(), output);
  scratch().trim();
  parts_.postprocessor.single_windows(output.of(text), options, take);
}

void Pipeline::encode_pair(std::string_view first, std::string_view second,
                           const EncodeOptions& options, Encoding& out) const {
  Scratch& work = scratch();
  tokenize_pair(first, second, options, true, work, work.first, work.second);
  parts_.postprocessor.pair(work.first.of(first), work.second.of(second), options, out);
  work.trim();
}

void Pipeline::encode_pair_windows(std::string_view first, std::string_view second,
                                   const EncodeOptions& options, const TakeWindow& take) const {
  Output outputs[2];
  tokenize_pair(first, second, options, false, scratch(), outputs[0], outputs[1]);
  scratch().trim();
  parts_.postprocessor.pair_windows(outputs[0].of(first), outputs[1].of(second), options, take);
}

void Pipeline::tokenize_pair(std::string_view first, std::string_view second,
                             const EncodeOptions& options, bool stops, Scratch& work,
                             Output& first_out, Output& second_out) const {
  // The limit is tokens_max itself, without subtracting special tokens: the text lengths counted up
  // to this limit determine which text is truncated.
  const size_t enough = options.tokens_max > 0 ? static_cast<size_t>(options.tokens_max) : SIZE_MAX;
  first_out.reset(enough, options.side, stops);
  second_out.reset(enough, options.side, stops);
  first_out.counts = second_out.counts = true;
  tokenize(first, work, first_out);
  tokenize(second, work, second_out);
}

void Pipeline::tokenize(std::string_view text, Scratch& work, Output& out) const {
  SIGNALBOX_CHECK(text.size() < UINT32_MAX);
  AddedTokens::Splitter parts(parts_.raw_tokens, text);
  while (!out.full) {
    const auto part = parts.next();
    if (!part) return;
    const auto begin = static_cast<uint32_t>(part->begin);
    if (part->id >= 0) {
      add_token(part->id, {begin, static_cast<uint32_t>(part->end)},
                text.substr(part->begin, part->end - part->begin), out);
    } else {
      tokenize_plain(text.substr(part->begin, part->end - part->begin), begin, work, out);
    }
  }
}

void Pipeline::tokenize_plain(std::string_view text, uint32_t base, Scratch& work,
                              Output& out) const {
  const auto& normalizers = parts_.normalizers;
  const bool local =
      locality_ != Locality::kWhole && (normalizers.empty() || normalizers[0]->is_local_in(text));
  for (size_t begin = 0; begin < text.size() && !out.full;) {
    const size_t end = local ? stretch_end(text, begin) : text.size();
    tokenize_stretch(text.substr(begin, end - begin), static_cast<uint32_t>(base + begin), work,
                     out);
    begin = end;
  }
  out.close_word();
}

void Pipeline::tokenize_stretch(std::string_view text, uint32_t base, Scratch& work,
                                Output& out) const {
  const TextView view(text, base);
  if (utf8::is_valid(text)) return tokenize_normalized(normalize(view, work), work, out);
  Normalized valid;
  for (uint32_t i = 0; i < text.size();) {
    const utf8::Decoded decoded = utf8::decode(text, i);
    valid.append(decoded.code_point, view.source(i, decoded.bytes));
    i += decoded.bytes;
  }
  tokenize_normalized(normalize(TextView(valid, base), work), work, out);
}

TextView Pipeline::normalize(TextView text, Scratch& work) const {
  size_t next = 0;
  for (const auto& normalizer : parts_.normalizers) {
    if (normalizer->keeps(text.text())) continue;
    Normalized& out = work.normalized[next];
    next ^= 1;
    out.clear();
    normalizer->normalize(text, out);
    SIGNALBOX_CHECK(out.text.size() < UINT32_MAX);
    text = TextView(out, text.base());
  }
  return text;
}

void Pipeline::tokenize_normalized(TextView text, Scratch& work, Output& out) const {
  AddedTokens::Splitter parts(parts_.normalized_tokens, text.text());
  while (!out.full) {
    const auto part = parts.next();
    if (!part) return;
    const Span span{static_cast<uint32_t>(part->begin), static_cast<uint32_t>(part->end)};
    if (part->id >= 0) {
      add_token(part->id, text.original(span),
                text.text().substr(part->begin, part->end - part->begin), out);
    } else {
      tokenize_words(split(text, span, work), work, out);
    }
  }
}

// Stores the words in work.words, as ranges of the returned view.
TextView Pipeline::split(TextView text, Span part, Scratch& work) const {
  work.words.assign(1, part);
  size_t next = 0;
  for (const PretokenizerStep& step : parts_.pretokenizer.steps) {
    work.words_next.clear();
    if (step.splitter) {
      for (const Span word : work.words) step.splitter->split(text.text(), word, work.words_next);
    } else {
      Normalized& out = work.rewritten[next];
      next ^= 1;
      out.clear();
      step.rewriter->rewrite(text, work.words, out, work.words_next);
      text = TextView(out, text.base());
    }
    work.words.swap(work.words_next);
  }
  return text;
}

// `matched` is the token's string with the absorbed white space.
void Pipeline::add_token(int32_t id, Span place, std::string_view matched, Output& out) const {
  out.close_word();
  out.tokens.push_back({id, place});
  if (parts_.postprocessor.trims()) out.spaces.push_back(spaces_of(matched));
}

Spaces Pipeline::spaces_at(const Token& token, std::string_view text) const {
  if (token.id != parts_.verbatim_id) return parts_.spaces[static_cast<size_t>(token.id)];
  return spaces_of(text.substr(token.span.begin, token.span.end - token.span.begin));
}

void Pipeline::tokenize_words(const TextView& text, Scratch& work, Output& out) const {
  const bool trims = parts_.postprocessor.trims();
  for (const Span word : work.words) {
    const size_t placed = out.tokens.size();
    parts_.model->tokenize(text.text(), word, work.model, out.tokens);
    for (size_t i = placed; i < out.tokens.size(); ++i) {
      Token& token = out.tokens[i];
      if (trims) out.spaces.push_back(spaces_at(token, text.text()));
      token.span = text.original(token.span);
    }
    if (locality_ == Locality::kModel) {
      if (word.begin != work.words.front().begin) out.close_word();
      out.continue_word(static_cast<uint32_t>(placed), !out.counts);
    } else {
      out.finish_word(static_cast<uint32_t>(placed));
    }
    if (out.full) return;
  }
}

}  // namespace signalbox::tokenizer
