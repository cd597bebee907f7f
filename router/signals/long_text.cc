// A text without a token is one window, so that the model's class of an empty text is its result.

#include "router/signals/long_text.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "router/text/windows.h"

namespace signalbox::signals {
namespace {

double sum_of(std::span<const size_t> labels, const std::vector<float>& scores) {
  double sum = 0;
  for (const size_t label : labels) sum += scores[label];
  return sum;
}

Result<text::Windows> windows_of_texts(const engine::TextModel& model,
                                       const std::vector<std::string_view>& texts) {
  SIGNALBOX_TRY(text::Windows windows, text::windows_of(texts, model));
  if (windows.pieces.empty()) windows.pieces.push_back(texts.front());
  return windows;
}

// Scales the scores of the positive labels so that they add up to `score`, and the others so that
// the sum of all stays the same.
std::vector<float> scaled(const std::vector<float>& scores, std::span<const size_t> positive,
                          double score) {
  const double found = sum_of(positive, scores);
  double all = 0;
  for (const float each : scores) all += each;
  const double others = all - found;
  std::vector<float> out;
  for (size_t i = 0; i < scores.size(); ++i) {
    const bool counts = std::ranges::find(positive, i) != positive.end();
    const double before = counts ? found : others, after = counts ? score : all - score;
    out.push_back(before > 0 ? static_cast<float>(scores[i] * after / before) : 0.0f);
  }
  return out;
}

}  // namespace

GuardScore guard_score(std::span<const std::string_view> windows,
                       std::span<const engine::Answer> answers, const Guard& guard, TextKind kind) {
  const size_t heads = answers.size() / windows.size();
  GuardScore out;
  for (size_t w = 0; w < windows.size(); ++w) {
    const double score =
        attack_probability(guard, answers.subspan(w * heads, heads), windows[w], kind);
    if (score > out.score) out = {.score = score, .window = w};
  }
  return out;
}

Result<TextScores> classify_text(const engine::TextModel& model, size_t head, std::string_view text,
                                 const WindowClassifier& classify) {
  SIGNALBOX_TRY(const text::Windows windows, windows_of_texts(model, {text}));
  SIGNALBOX_TRY(const std::vector<engine::Answer> answers, classify(windows.pieces));
  if (windows.pieces.size() == 1) return TextScores{answers[head].scores, windows.whole};
  return TextScores{window_mean(windows.pieces, answers, head, model.heads().size()),
                    windows.whole};
}

Result<TextScores> judge_text(const engine::TextModel& model, const Guard& guard, TextKind kind,
                              std::string_view text, const WindowClassifier& classify) {
  const GuardedTexts texts({&text, 1});
  SIGNALBOX_TRY(const text::Windows windows, windows_of_texts(model, texts.all()));
  SIGNALBOX_TRY(const std::vector<engine::Answer> answers, classify(windows.pieces));
  const size_t heads = model.heads().size();
  const GuardScore found = guard_score(windows.pieces, answers, guard, kind);
  std::vector<float> scores = answers[found.window * heads + guard.head].scores;
  if (scores.empty()) {  // the screen has cleared all windows
    const size_t labels = model.heads()[guard.head].labels.size();
    scores.assign(labels, 1.0f / static_cast<float>(labels));
  }
  return TextScores{scaled(scores, guard.positive, found.score), windows.whole};
}

Result<TextSpans> mark_text(const engine::TextModel& model, size_t head, std::string_view text,
                            const WindowClassifier& classify) {
  SIGNALBOX_TRY(const text::Windows windows, windows_of_texts(model, {text}));
  SIGNALBOX_TRY(std::vector<engine::Answer> answers, classify(windows.pieces));
  TextSpans out{.whole = windows.whole};
  for (size_t w = 0; w < windows.pieces.size(); ++w) {
    const auto from = static_cast<uint32_t>(windows.pieces[w].data() - text.data());
    for (engine::Entity& span : answers[w * model.heads().size() + head].entities) {
      span.begin += from;
      span.end += from;
      out.spans.push_back(std::move(span));
    }
  }
  return out;
}

std::vector<engine::Entity> keep_surest(std::vector<engine::Entity> spans) {
  std::ranges::stable_sort(spans, [](const engine::Entity& a, const engine::Entity& b) {
    return a.score != b.score ? a.score > b.score : a.begin < b.begin;
  });
  std::map<uint32_t, const engine::Entity*> kept;  // by its first byte
  for (const engine::Entity& span : spans) {
    const auto next = kept.lower_bound(span.begin);
    const bool hits_next = next != kept.end() && next->first < span.end;
    const bool hits_last = next != kept.begin() && std::prev(next)->second->end > span.begin;
    if (!hits_next && !hits_last) kept.emplace_hint(next, span.begin, &span);
  }
  std::vector<engine::Entity> out;
  out.reserve(kept.size());
  for (const auto& [begin, span] : kept) out.push_back(*span);
  return out;
}

}  // namespace signalbox::signals
