// All windows of a text go to the model together.

#include "tools/read_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "router/signals/jailbreak_windows.h"
#include "router/text/windows.h"

namespace signalbox::tools {
namespace {

signals::WindowClassifier window_classifier(const engine::TextModel& model, size_t head,
                                            const signals::Guard* guard = nullptr) {
  return [&model, head, guard](std::span<const std::string_view> windows) {
    const bool screened = guard != nullptr && signals::uses_screen(*guard, windows.size(),
                                                                   signals::kJailbreakThreshold);
    std::vector<engine::Input> inputs;
    for (const std::string_view window : windows) {
      inputs.push_back(
          {.text = window, .adapter = model.heads()[head].adapter, .screened = screened});
    }
    return model.answer(inputs);
  };
}

}  // namespace

Result<signals::TextScores> read_text(const engine::TextModel& model, size_t head,
                                      std::string_view text, signals::TextKind kind) {
  auto positive = signals::find_jailbreak_labels({}, model.heads()[head].labels);
  if (positive.empty())
    return signals::classify_text(model, head, text, window_classifier(model, head));
  const signals::Guard guard = signals::make_guard(model, head, std::move(positive));
  return signals::judge_text(model, guard, kind, text, window_classifier(model, head, &guard));
}

Result<signals::TextSpans> mark_spans(const engine::TextModel& model, size_t head,
                                      std::string_view text) {
  return signals::mark_text(model, head, text, window_classifier(model, head));
}

Result<bool> is_longer_than_windows(const engine::TextModel& model, std::string_view text) {
  SIGNALBOX_TRY(const text::Windows windows, text::windows_of({text}, model));
  return !windows.whole;
}

std::string windows_limit(const engine::TextModel& model) {
  return fmt::format("{} windows of {} tokens", text::kWindowsMax,
                     std::min(model.tokens_max(), text::kWindowTokens));
}

}  // namespace signalbox::tools
