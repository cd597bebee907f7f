#pragma once
// Splits a text into sentences, and sentences into terms, in one pass over its bytes.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace signalbox::compress {

struct Sentence {
  uint32_t begin, end;  // bytes of the source, without ASCII white space at the ends; begin < end
  uint32_t terms_begin, terms_end;  // range of Sentences::terms
  float tokens;                     // estimated
};

/// Terms are words in lower case and, for scripts without spaces between words, pairs of
/// neighbouring characters. A 64-bit hash identifies a term.
struct Sentences {
  std::vector<Sentence> sentences;  // in the order of the source
  std::vector<uint32_t> terms;      // values below `vocabulary`, in the order of the source
  uint32_t vocabulary = 0;
  double tokens = 0;  // of the text that was read

  std::span<const uint32_t> terms_of(const Sentence& sentence) const {
    return std::span(terms).subspan(sentence.terms_begin,
                                    sentence.terms_end - sentence.terms_begin);
  }
};

/// kAlike: all numbers are one term, because lines that differ only in numbers have the same
/// content. kDistinct: each number is a term, because a question may ask for one of them.
enum class Numbers : uint8_t { kAlike, kDistinct };

/// A part of the source that is read. No sentence spans two of them.
struct Stretch {
  size_t begin, end;
};

/// A sentence ends at a full stop, question mark or exclamation mark of any script, at an empty
/// line, and at a line break unless the next line begins in lower case. It does not end at the
/// point of a number, of a single capital or of an abbreviation with inner points, nor before its
/// 16th byte. Text without such an end is cut between words before it exceeds `tokens_max` tokens,
/// and a word of more than 64 bytes between any two characters. A token has at most 32 bytes, so
/// that no input, not even white space, makes a sentence longer than 32 * tokens_max + 80 bytes.
/// The stretches must be in order, within the text, and end below 4 GiB.
Sentences split_sentences(std::string_view text, std::span<const Stretch> stretches,
                          float tokens_max, Numbers numbers = Numbers::kAlike);

}  // namespace signalbox::compress
