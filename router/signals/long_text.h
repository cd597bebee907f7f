#pragma once
// Reads one text of any length with one head of a model, in windows. The classification API and the
// commands share this code with the signals, so that all of them give the same verdict.

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "router/signals/jailbreak_windows.h"
#include "router/signals/text_classes.h"

namespace signalbox::signals {

/// A guard's result for the windows of one text.
struct GuardScore {
  double score = 0;   // probability of an attack
  size_t window = 0;  // the window with the highest probability
};

/// Returns the guard's result for at least one window. `answers` is (windows, heads), row-major.
GuardScore guard_score(std::span<const std::string_view> windows,
                       std::span<const engine::Answer> answers, const Guard& guard, TextKind kind);

struct TextScores {
  std::vector<float> scores = {};  // (labels)
  bool whole = true;               // false: the text has more windows than text::kWindowsMax
};

/// Classifies a text with a sequence head: the scores are the mean over the windows, weighted by
/// their length in bytes. Returns the errors of `classify` and of the model.
Result<TextScores> classify_text(const engine::TextModel& model, size_t head, std::string_view text,
                                 const WindowClassifier& classify);

/// Judges a text and what is hidden in it with a guard: the scores are those of the window that
/// guard_score() chooses, scaled so that the positive ones add up to its score.
Result<TextScores> judge_text(const engine::TextModel& model, const Guard& guard, TextKind kind,
                              std::string_view text, const WindowClassifier& classify);

struct TextSpans {
  std::vector<engine::Entity> spans = {};  // bytes of the text; window by window
  bool whole = true;
};

/// Marks a text with a token head. Overlapping windows give a span twice; see keep_surest().
/// Returns the errors of `classify` and of the model.
Result<TextSpans> mark_text(const engine::TextModel& model, size_t head, std::string_view text,
                            const WindowClassifier& classify);

/// Returns the spans in text order without overlaps: of two that overlap, the one with the higher
/// score stays, or the earlier one if the scores are equal.
std::vector<engine::Entity> keep_surest(std::vector<engine::Entity> spans);

}  // namespace signalbox::signals
