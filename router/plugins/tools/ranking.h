#pragma once
// Which tools fit what a user says: a weighted mean of five scores, each 0 to 1.
//
//   embed     cosine of what is said and what the tool does, negative ones as 0
//   lexical   share of the words said that its name, description or category have
//   tag       share of the words of its tags that are said
//   name      1 where all words of its name are said
//   category  1 where it is the request's

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "router/plugins/tools/database.h"

namespace signalbox::plugins {

/// All 0: embed alone.
struct Weights {
  double embed = 0, lexical = 0, tag = 0, name = 0, category = 0;
  bool is_unset() const {
    return embed <= 0 && lexical <= 0 && tag <= 0 && name <= 0 && category <= 0;
  }
  bool needs_embedder() const { return embed > 0 || is_unset(); }
};

/// Words in lower case, in order and once each. Underscores separate, and so does every character
/// of a script without spaces.
std::vector<std::string> words_in(std::string_view text);

/// How many of `words` are in `among`, both of words_in().
size_t shared_words(const std::vector<std::string>& words, const std::vector<std::string>& among);

struct Candidate {
  const Tool* tool;
  double similarity = 0;  // cosine, -1 to 1
};

struct Bounds {
  size_t top_k = 0;            // 0: all
  double similarity_min = -1;  // fewer are left out
  size_t pool = 0;             // of that many by similarity one chooses; 0: of all
  size_t overlap_min = 0;      // words in common
  double score_min = 0;
  bool only_category = false;  // those of the category alone, where there are any
};

struct Ranked {
  uint32_t candidate;
  double score;
};

/// The best first; equal ones by similarity, then by name. Names compare without case in
/// categories.
std::vector<Ranked> rank(std::string_view query, std::string_view category,
                         std::span<const Candidate> candidates, const Weights& weights,
                         const Bounds& bounds);

}  // namespace signalbox::plugins
