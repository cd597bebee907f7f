// Splits a text in one pass, with one hash per word and without a copy. A table classifies ASCII
// bytes; router/text/normalize.h classifies the rest. Rejected: Unicode's rules for sentences (UAX
// 29), which do not end a sentence at a line break and need three passes; lists of abbreviations,
// which work for one language only.

#include "router/compress/sentences.h"

#include <algorithm>
#include <array>

#include "base/fnv.h"
#include "base/utf8.h"
#include "router/text/normalize.h"

namespace signalbox::compress {
namespace {

constexpr uint32_t kSentenceBytesMin = 16;
constexpr size_t kWordBytesMax = 64;
constexpr uint32_t kWordLettersMax = 24;  // longer ones are not words of a language
constexpr float kTokensWord = 1.3f;
constexpr float kTokensIdeograph = 1.5f;
constexpr float kTokensLetter = 0.5f;  // a letter of Thai and similar scripts
constexpr float kBytesToken = 4;       // bytes per token outside words
constexpr float kTokenBytesMax = 32;
constexpr size_t kFewMarks = 4;  // bytes of punctuation that cost nothing

// Full stops, question marks and exclamation marks that always end a sentence. Sorted.
constexpr auto kTerminators = std::to_array<char32_t>({
    0x0589, 0x05C3, 0x061E, 0x061F, 0x06D4, 0x0700, 0x0701, 0x0702, 0x07F9, 0x0837, 0x0964,
    0x0965, 0x0DF4, 0x0E5A, 0x0E5B, 0x0F0D, 0x0F0E, 0x104B, 0x1362, 0x1367, 0x1368, 0x166E,
    0x17D4, 0x17D5, 0x1803, 0x1809, 0x1945, 0x1B5A, 0x1B5E, 0x1C3B, 0x1C7E, 0x203C, 0x203D,
    0x2047, 0x2048, 0x2049, 0x3002, 0xA4FF, 0xA60E, 0xA6F3, 0xA876, 0xA8CE, 0xA92F, 0xA9C8,
    0xAA5D, 0xABEB, 0xFE52, 0xFE56, 0xFE57, 0xFF01, 0xFF0E, 0xFF1F, 0xFF61,
});

enum class Kind : uint8_t {
  kSpace,
  kLine,  // a line break
  kWord,
  kUnseparated,
  kJoiner,      // part of a word if a word character follows
  kPoint,       // ASCII punctuation that may end a sentence
  kTerminator,  // always ends a sentence
  kCloser,      // quotes and brackets that may follow the end of a sentence
  kOther,
};

constexpr std::array<Kind, 128> kAscii = [] {
  std::array<Kind, 128> table{};
  for (auto& kind : table) kind = Kind::kOther;
  for (char c = '0'; c <= '9'; ++c) table[static_cast<size_t>(c)] = Kind::kWord;
  for (char c = 'a'; c <= 'z'; ++c) table[static_cast<size_t>(c)] = Kind::kWord;
  for (char c = 'A'; c <= 'Z'; ++c) table[static_cast<size_t>(c)] = Kind::kWord;
  table['_'] = Kind::kWord;
  table[' '] = table['\t'] = Kind::kSpace;
  for (char c = '\n'; c <= '\r'; ++c) table[static_cast<size_t>(c)] = Kind::kLine;
  table['\''] = Kind::kJoiner;
  table['.'] = table['!'] = table['?'] = Kind::kPoint;
  table['"'] = table[')'] = table[']'] = table['}'] = Kind::kCloser;
  return table;
}();

Kind wide_kind(char32_t c) {
  if (c == 0x85 || c == 0x2028 || c == 0x2029) return Kind::kLine;
  if (c == 0x2019 || c == 0x200C || c == 0x200D || c == 0xAD) return Kind::kJoiner;
  if (c == 0xBB || c == 0x201D || c == 0x203A || c == 0x300D || c == 0x300F || c == 0xFF09 ||
      c == 0xFF63)
    return Kind::kCloser;
  switch (text::kind_of(c)) {
    case text::CharKind::kSpace:
      return Kind::kSpace;
    case text::CharKind::kWord:
      return Kind::kWord;
    case text::CharKind::kUnseparated:
      return Kind::kUnseparated;
    case text::CharKind::kOther:
      break;
  }
  return std::binary_search(kTerminators.begin(), kTerminators.end(), c) ? Kind::kTerminator
                                                                         : Kind::kOther;
}

bool is_ideograph(char32_t c) {
  const bool of_letters =
      (c >= 0x0E00 && c < 0x1100) || (c >= 0x1780 && c < 0x1B00) || (c >= 0xAA60 && c < 0xAB00);
  return !of_letters;
}

struct Char {
  char32_t code_point;
  uint32_t bytes;
  Kind kind;
};

class Hash {
 public:
  void add(uint64_t value) { hash_.add(value); }
  // FNV-1a mixes the upper bits of short words poorly, and the table uses the lower bits, so mix
  // again.
  uint64_t get() const {
    uint64_t x = hash_.get();
    x = (x ^ (x >> 32)) * 0x9E3779B97F4A7C15u;
    return x ^ (x >> 29);
  }

 private:
  Fnv hash_;
};

// Maps hashes to numbers, by open addressing.
class Vocabulary {
 public:
  uint32_t number_of(uint64_t hash) {
    hash |= uint64_t{hash == 0};  // 0 marks an empty slot
    if (2 * (size_ + 1) > slots_.size()) grow();
    Slot& slot = find(hash);
    if (slot.hash == 0) slot = {hash, size_++};
    return slot.number;
  }
  uint32_t size() const { return size_; }

 private:
  struct Slot {
    uint64_t hash = 0;
    uint32_t number = 0;
  };
  Slot& find(uint64_t hash) {
    for (size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].hash == hash || slots_[at].hash == 0) return slots_[at];
    }
  }
  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.hash != 0) find(slot.hash) = slot;
    }
  }
  std::vector<Slot> slots_{4096};
  uint32_t size_ = 0;
};

class Splitter {
 public:
  Splitter(std::string_view text, float tokens_max, Numbers numbers)
      : text_(text),
        tokens_max_(tokens_max),
        bytes_max_(kTokenBytesMax * tokens_max),
        numbers_(numbers) {}

  void read(const Stretch& stretch) {
    at_ = begin_ = stretch.begin;
    end_ = stretch.end;
    while (at_ < end_) {
      if (static_cast<float>(at_ - begin_) > bytes_max_) finish(at_);
      const Char c = peek(at_);
      if (c.kind != Kind::kOther && c.kind != Kind::kPoint && c.kind != Kind::kTerminator &&
          c.kind != Kind::kCloser && c.kind != Kind::kJoiner)
        marks_ = 0;
      switch (c.kind) {
        case Kind::kSpace:
          at_ += c.bytes;
          break;
        case Kind::kLine:
          read_line_break();
          break;
        case Kind::kWord:
          read_word();
          break;
        case Kind::kUnseparated:
          read_unseparated();
          break;
        case Kind::kPoint:
        case Kind::kTerminator:
          read_terminator(c);
          break;
        case Kind::kJoiner:
        case Kind::kCloser:
        case Kind::kOther:
          read_mark(c);
          break;
      }
    }
    finish(end_);
  }

  Sentences take() {
    out_.vocabulary = vocabulary_.size();
    return std::move(out_);
  }

 private:
  Char peek(size_t at) const {
    const auto byte = static_cast<unsigned char>(text_[at]);
    if (byte < 0x80) return {byte, 1, kAscii[byte]};
    const utf8::Decoded decoded = utf8::decode(text_.substr(0, end_), at);
    return {decoded.code_point, decoded.bytes, wide_kind(decoded.code_point)};
  }

  void add_term(const Hash& hash) { out_.terms.push_back(vocabulary_.number_of(hash.get())); }

  // Adds `tokens` for the text that begins at at_. If they do not fit, at_ begins the next
  // sentence.
  void count(float tokens) {
    if (tokens_ > 0 && tokens_ + tokens > tokens_max_) finish(at_);
    tokens_ += tokens;
  }

  void read_word() {
    Hash hash;
    size_t at = at_;
    uint32_t letters = 0;
    bool number = true;
    for (; at < end_ && at - at_ < kWordBytesMax; ++letters) {
      const auto byte = static_cast<unsigned char>(text_[at]);
      if (byte < 0x80 && kAscii[byte] == Kind::kWord) {
        const bool upper = byte >= 'A' && byte <= 'Z';
        hash.add(upper ? byte + ('a' - 'A') : byte);
        number &= byte <= '9';
        ++at;
        continue;
      }
      const Char c = peek(at);
      if (c.kind == Kind::kJoiner && at > at_) {
        const size_t next = at + c.bytes;
        if (next >= end_ || peek(next).kind != Kind::kWord) break;
        at = next;
        continue;
      }
      if (c.kind != Kind::kWord) break;
      hash.add(text::lower_case(c.code_point));
      number = false;
      at += c.bytes;
    }
    const bool is_word = letters <= kWordLettersMax;
    count(is_word ? kTokensWord : static_cast<float>(at - at_) / kBytesToken);
    add_term(number && numbers_ == Numbers::kAlike ? Hash() : hash);
    word_begin_ = at_;
    at_ = at;
  }

  void read_unseparated() {
    char32_t before = 0;
    while (at_ < end_) {
      const Char c = peek(at_);
      if (c.kind != Kind::kUnseparated) break;
      count(is_ideograph(c.code_point) ? kTokensIdeograph : kTokensLetter);
      if (at_ == begin_) before = 0;
      const size_t next = at_ + c.bytes;
      const bool alone = before == 0 && (next >= end_ || peek(next).kind != Kind::kUnseparated);
      if (before != 0 || alone) {
        Hash hash;
        hash.add(before);
        hash.add(c.code_point);
        add_term(hash);
      }
      before = c.code_point;
      at_ = next;
    }
  }

  void read_mark(const Char& c) {
    marks_ += c.bytes;
    count(marks_ > kFewMarks ? static_cast<float>(c.bytes) / kBytesToken : 0);
    at_ += c.bytes;
  }

  void read_terminator(const Char& first) {
    const bool abbreviates = first.code_point == '.' && ends_abbreviation();
    bool ends = first.kind == Kind::kTerminator, only_this = true;
    read_mark(first);
    while (at_ < end_) {
      const Char c = peek(at_);
      if (c.kind != Kind::kPoint && c.kind != Kind::kTerminator && c.kind != Kind::kCloser) break;
      ends |= c.kind == Kind::kTerminator;
      only_this &= c.kind == Kind::kCloser;
      read_mark(c);
    }
    if (!ends && at_ < end_) {
      const Kind next = peek(at_).kind;
      if (next != Kind::kSpace && next != Kind::kLine) return;
    }
    if (ends || !only_this || !abbreviates) may_finish();
  }

  // Returns whether the word before at_ is a single capital, or a letter after another point, as in
  // "J. Smith" and "e.g. this".
  bool ends_abbreviation() const {
    if (word_begin_ < begin_ || word_begin_ + 1 != at_) return false;
    const char letter = text_[word_begin_];
    const bool behind_point = word_begin_ > begin_ && text_[word_begin_ - 1] == '.';
    return (letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z' && behind_point);
  }

  void read_line_break() {
    const size_t line_end = at_;
    int breaks = 0;
    bool indented = false;
    while (at_ < end_) {
      const Char c = peek(at_);
      if (c.kind != Kind::kSpace && c.kind != Kind::kLine) break;
      breaks += c.kind == Kind::kLine && c.code_point != '\r' ? 1 : 0;
      indented = c.kind == Kind::kSpace;
      at_ += c.bytes;
      if (static_cast<float>(at_ - begin_) > bytes_max_) break;
    }
    if (at_ < end_ && breaks < 2 && !indented) {
      const Char c = peek(at_);
      const bool lower = c.code_point < 0x80 ? c.code_point >= 'a' && c.code_point <= 'z'
                                             : c.kind == Kind::kWord &&
                                                   text::lower_case(c.code_point) == c.code_point &&
                                                   has_cases(c.code_point);
      if (lower) return;
    }
    if (line_end - begin_ >= kSentenceBytesMin) finish(line_end);
  }

  // Latin, Greek, Cyrillic, Armenian and Georgian letters have two cases.
  static bool has_cases(char32_t c) { return c < 0x0590 || (c >= 0x10A0 && c < 0x1100); }

  void may_finish() {
    if (at_ - begin_ >= kSentenceBytesMin) finish(at_);
  }

  // Ends the sentence before `end` and begins the next one there.
  void finish(size_t end) {
    size_t first = begin_, last = end;
    while (first < last && is_blank(text_[first])) ++first;
    while (last > first && is_blank(text_[last - 1])) --last;
    const auto terms = static_cast<uint32_t>(out_.terms.size());
    if (first < last) {
      const auto bytes = static_cast<float>(last - first);
      const float tokens = std::max(tokens_, bytes / kTokenBytesMax);
      out_.sentences.push_back(
          {static_cast<uint32_t>(first), static_cast<uint32_t>(last), terms_, terms, tokens});
      out_.tokens += tokens;
    }
    begin_ = end;
    terms_ = terms;
    tokens_ = 0;
    marks_ = 0;
  }

  static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

  std::string_view text_;
  float tokens_max_, bytes_max_;
  Numbers numbers_;
  size_t at_ = 0, begin_ = 0, end_ = 0;
  size_t word_begin_ = 0;  // start of the last word
  size_t marks_ = 0;       // bytes of consecutive punctuation
  uint32_t terms_ = 0;     // first term of this sentence
  float tokens_ = 0;       // tokens of this sentence
  Vocabulary vocabulary_;
  Sentences out_;
};

}  // namespace

Sentences split_sentences(std::string_view text, std::span<const Stretch> stretches,
                          float tokens_max, Numbers numbers) {
  Splitter splitter(text, tokens_max, numbers);
  for (const Stretch& stretch : stretches) splitter.read(stretch);
  return splitter.take();
}

}  // namespace signalbox::compress
