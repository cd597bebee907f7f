#pragma once
// A text as sentences, and sentences as terms, in one pass over its bytes.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace signalbox::compress {

struct Sentence {
  uint32_t begin, end;              // bytes of the source, no ASCII white space around; begin < end
  uint32_t terms_begin, terms_end;  // of Sentences::terms
  float tokens;                     // estimated
};

/// Terms are words in lower case (all numbers are one: lines that differ in them say the same), and
/// pairs of neighbours where a script puts no spaces between
/// words. They are told apart by 64 bits of hash.
struct Sentences {
  std::vector<Sentence> sentences;  // in the order of the source
  std::vector<uint32_t> terms;      // below vocabulary, in the order of the source
  uint32_t vocabulary = 0;
  double tokens = 0;  // of what was read

  std::span<const uint32_t> terms_of(const Sentence& sentence) const {
    return std::span(terms).subspan(sentence.terms_begin,
                                    sentence.terms_end - sentence.terms_begin);
  }
};

/// A part of the source that is read; nothing spans two of them.
struct Stretch {
  size_t begin, end;
};

/// A sentence ends at a full stop, question or exclamation mark of any script, at an empty line and
/// at a line break unless the next line goes on in lower case; not at the point of a number, of a
/// single capital or of an abbreviation with points inside, and not before its 16th byte. What has
/// no end is cut between words before it has more than `tokens_max` tokens, a word of more than 64
/// bytes anywhere between characters. A token has at most 32 bytes, so that nothing, white space
/// neither, makes a sentence longer than 32 * tokens_max + 80 bytes. Stretches are in order, within
/// the text, and end below 4 GiB.
Sentences split_sentences(std::string_view text, std::span<const Stretch> stretches,
                          float tokens_max);

}  // namespace signalbox::compress
