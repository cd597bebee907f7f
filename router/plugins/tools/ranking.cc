// Word sets are sorted vectors: a request has at most hundreds of tools with a few dozen words
// each.

#include "router/plugins/tools/ranking.h"

#include <algorithm>
#include <numeric>

#include "base/utf8.h"
#include "router/text/normalize.h"

namespace signalbox::plugins {
namespace {

std::string normalize_category(std::string_view text) {
  std::string out;
  text::normalize(text, true, out);
  const size_t begin = out.find_first_not_of(' ');
  if (begin == std::string::npos) return {};
  return out.substr(begin, out.find_last_not_of(' ') + 1 - begin);
}

class Ranker {
 public:
  Ranker(std::string_view query, std::string_view category, const Weights& weights,
         const Bounds& bounds)
      : query_(words_in(query)),
        category_(normalize_category(category)),
        weights_(weights),
        bounds_(bounds) {
    if (weights_.is_unset()) weights_.embed = 1;
    by_similarity_alone_ = bounds.overlap_min == 0 && weights_.lexical <= 0 && weights_.tag <= 0 &&
                           weights_.name <= 0 && weights_.category <= 0;
  }

  bool is_of_category(const Tool& tool) const {
    return !category_.empty() && normalize_category(tool.category) == category_;
  }

  // Returns a negative number if too few words overlap.
  double score(const Candidate& candidate) const {
    if (by_similarity_alone_) return std::clamp(candidate.similarity, 0.0, 1.0);
    const Tool& tool = *candidate.tool;
    const std::vector<std::string> name = words_in(tool.name);
    const std::vector<std::string> all =
        words_in(tool.name + " " + tool.description + " " + tool.category);
    const size_t overlap = shared_words(query_, all);
    if (overlap < bounds_.overlap_min) return -1;
    std::string tag_text;
    for (const std::string& tag : tool.tags) tag_text.append(tag).append(" ");
    const std::vector<std::string> tags = words_in(tag_text);
    const bool is_named = !name.empty() && shared_words(name, query_) == name.size();
    const double sum = weights_.embed * std::clamp(candidate.similarity, 0.0, 1.0) +
                       weights_.lexical * share(overlap, query_.size()) +
                       weights_.tag * share(shared_words(tags, query_), tags.size()) +
                       weights_.name * (is_named ? 1 : 0) +
                       weights_.category * (is_of_category(tool) ? 1 : 0);
    return sum /
           (weights_.embed + weights_.lexical + weights_.tag + weights_.name + weights_.category);
  }

 private:
  static double share(size_t part, size_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  }

  std::vector<std::string> query_;
  std::string category_;
  Weights weights_;
  const Bounds& bounds_;
  bool by_similarity_alone_;
};

}  // namespace

std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  for (size_t at = 0; at < text.size();) {
    const utf8::Decoded decoded = utf8::decode(text, at);
    at += decoded.bytes;
    const text::CharKind kind =
        decoded.code_point == '_' ? text::CharKind::kOther : text::kind_of(decoded.code_point);
    const bool alone = kind == text::CharKind::kUnseparated;
    if (kind == text::CharKind::kWord || alone) {
      if (!in_word || alone) words.emplace_back();
      utf8::append(words.back(), text::lower_case(decoded.code_point));
    }
    in_word = kind == text::CharKind::kWord;
  }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

size_t shared_words(const std::vector<std::string>& words, const std::vector<std::string>& among) {
  return static_cast<size_t>(std::count_if(words.begin(), words.end(), [&](const auto& word) {
    return std::binary_search(among.begin(), among.end(), word);
  }));
}

std::vector<Ranked> rank(std::string_view query, std::string_view category,
                         std::span<const Candidate> candidates, const Weights& weights,
                         const Bounds& bounds) {
  const Ranker ranker(query, category, weights, bounds);
  std::vector<uint32_t> pool;
  for (uint32_t i = 0; i < candidates.size(); ++i) {
    const bool near =
        !weights.needs_embedder() || candidates[i].similarity >= bounds.similarity_min;
    if (near) pool.push_back(i);
  }
  const auto nearer = [&](uint32_t a, uint32_t b) {
    const Candidate &x = candidates[a], &y = candidates[b];
    if (x.similarity != y.similarity) return x.similarity > y.similarity;
    return x.tool->name != y.tool->name ? x.tool->name < y.tool->name : a < b;
  };
  std::sort(pool.begin(), pool.end(), nearer);
  if (weights.needs_embedder() && bounds.pool > 0 && pool.size() > bounds.pool)
    pool.resize(bounds.pool);
  if (bounds.only_category) {
    const auto of_category = [&](uint32_t i) { return ranker.is_of_category(*candidates[i].tool); };
    if (std::any_of(pool.begin(), pool.end(), of_category))
      std::erase_if(pool, [&](uint32_t i) { return !of_category(i); });
  }
  std::vector<Ranked> out;
  for (const uint32_t i : pool) {
    const double score = ranker.score(candidates[i]);
    if (score >= 0 && score >= bounds.score_min) out.push_back({i, score});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Ranked& a, const Ranked& b) { return a.score > b.score; });
  if (bounds.top_k > 0 && out.size() > bounds.top_k) out.resize(bounds.top_k);
  return out;
}

}  // namespace signalbox::plugins
