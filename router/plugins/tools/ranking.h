#pragma once
// Ranks tools by how well they fit the user's text: a weighted mean of five scores, each 0 to 1.
//
//   embed     cosine of the user's text and the tool's text; 0 if negative
//   lexical   share of the user's words that occur in the tool's name, description or category
//   tag       share of the words of the tool's tags that the user's text contains
//   name      1 if the user's text contains all words of the tool's name
//   category  1 if the tool's category is that of the request

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "router/plugins/tools/database.h"

namespace signalbox::plugins {

/// If all are 0, only embed counts.
struct Weights {
  double embed = 0, lexical = 0, tag = 0, name = 0, category = 0;
  bool is_unset() const {
    return embed <= 0 && lexical <= 0 && tag <= 0 && name <= 0 && category <= 0;
  }
  bool needs_embedder() const { return embed > 0 || is_unset(); }
};

/// Returns the distinct words in lower case, sorted. Underscores separate words, and each character
/// of a script without spaces is a word.
std::vector<std::string> words_in(std::string_view text);

/// Returns how many of `words` are in `among`; both come from words_in().
size_t shared_words(const std::vector<std::string>& words, const std::vector<std::string>& among);

struct Candidate {
  const Tool* tool;
  double similarity = 0;  // cosine, -1 to 1
};

struct Bounds {
  size_t top_k = 0;            // 0: all
  double similarity_min = -1;  // candidates below it are left out
  size_t pool = 0;             // rank only this many, the most similar ones; 0: all
  size_t overlap_min = 0;      // least number of words in common
  double score_min = 0;
  bool only_category = false;  // use only tools of the category, if there are any
};

struct Ranked {
  uint32_t candidate;
  double score;
};

/// Returns the best tools first; equal scores are ordered by similarity, then by name. Categories
/// are compared without case.
std::vector<Ranked> rank(std::string_view query, std::string_view category,
                         std::span<const Candidate> candidates, const Weights& weights,
                         const Bounds& bounds);

}  // namespace signalbox::plugins
