// Evaluates checks of answers against their contexts: whether an unsupported answer is found, how
// well the score ranks answers, and which bytes are marked.

#include <algorithm>
#include <memory>
#include <set>

#include "base/ascii.h"
#include "tools/eval/run.h"

namespace signalbox::tools {
namespace {

constexpr double kThreshold = 0.5;

// Counts the bytes that both lists cover. The spans of each list are in order and do not overlap.
int64_t shared_bytes(std::span<const LabelledSpan> a, std::span<const LabelledSpan> b) {
  int64_t out = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const uint32_t begin = std::max(a[i].begin, b[j].begin), end = std::min(a[i].end, b[j].end);
    if (begin < end) out += end - begin;
    (a[i].end < b[j].end ? i : j) += 1;
  }
  return out;
}

int64_t bytes_of(std::span<const LabelledSpan> spans) {
  int64_t out = 0;
  for (const LabelledSpan& span : spans) out += span.end - span.begin;
  return out;
}

// Splits a text into runs of letters and digits; ASCII letters become lower case.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  bool is_open = false;
  for (const char c : text) {
    const bool is_inside = ascii::is_word_byte(c);
    if (is_inside && !is_open) out.emplace_back();
    if (is_inside) out.back() += ascii::lower(c);
    is_open = is_inside;
  }
  return out;
}

double share_of_new_words(const LabelledRow& row) {
  std::set<std::string> known;
  for (const std::string* text : {&row.context, &row.question}) {
    for (std::string& word : words_of(*text)) known.insert(std::move(word));
  }
  const auto words = words_of(row.text);
  if (words.empty()) return 0;
  const auto fresh =
      std::ranges::count_if(words, [&](const std::string& word) { return !known.contains(word); });
  return static_cast<double>(fresh) / static_cast<double>(words.size());
}

AtThreshold at_threshold(std::span<const uint8_t> truths, std::span<const uint8_t> found,
                         double threshold) {
  AtThreshold out;
  out.threshold = threshold;
  out.rows = std::ssize(truths);
  for (size_t r = 0; r < truths.size(); ++r) {
    out.hits += truths[r] == found[r];
    out.positive.support += truths[r];
    out.positive.predicted += found[r];
    out.positive.hits += truths[r] & found[r];
    out.negatives += 1 - truths[r];
  }
  return out;
}

}  // namespace

Result<Evaluated> evaluate_answers(const std::string& name, const CheckAnswer& check,
                                   const LabelledRows& rows, const EvalOptions& options) {
  const size_t count = rows.rows.size();
  std::vector<CheckedAnswer> checked(count);
  Evaluated out;
  out.model = name;
  SIGNALBOX_TRY(out.times, timed(rows, options, [&](size_t r) -> Result<void> {
                  const LabelledRow& row = rows.rows[r];
                  SIGNALBOX_TRY(checked[r], check(row.context, row.question, row.text));
                  return {};
                }));
  std::vector<double> doubts, fresh;
  std::vector<uint8_t> truths, found;
  std::vector<SpanCounts> bytes;
  out.files.resize(rows.files.size());
  for (size_t r = 0; r < count; ++r) {
    const LabelledRow& row = rows.rows[r];
    doubts.push_back(1 - checked[r].supported);
    fresh.push_back(share_of_new_words(row));
    truths.push_back(row.label == "yes" ? 1 : 0);
    found.push_back(doubts[r] >= options.threshold.value_or(kThreshold) ? 1 : 0);
    bytes.push_back({bytes_of(row.spans), bytes_of(checked[r].spans),
                     shared_bytes(row.spans, checked[r].spans)});
    out.answers.emplace_back(found[r] != 0 ? "not supported" : "supported");
    out.hits.push_back(truths[r] == found[r] ? 1 : 0);
    FileShare& file = out.files[row.file];
    ++file.rows;
    file.hits += out.hits[r];
    file.flagged += found[r];
  }
  out.not_supported = std::ranges::count(truths, 1);
  out.at_threshold = at_threshold(truths, found, options.threshold.value_or(kThreshold));
  const Roc roc(doubts, truths), words(fresh, truths);
  const std::vector<uint8_t> all(count, 1);
  const std::vector<Figure> figures{
      {"f1", [&](Weights weights) { return f1(truths, found, weights); }},
      {"auc", [&](Weights weights) { return roc.area(weights); }},
      {"span_bytes_f1", [&](Weights weights) { return span_f1(bytes, weights); }},
      {"baseline_f1", [&](Weights weights) { return words.best_f1(weights).f1; }},
      {"baseline_auc", [&](Weights weights) { return words.area(weights); }},
      {"all_f1", [&](Weights weights) { return f1(truths, all, weights); }}};
  out.figures = compute_figures(figures, count, options.seed);
  return out;
}

}  // namespace signalbox::tools
