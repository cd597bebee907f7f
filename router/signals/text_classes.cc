// Reads all windows, because the mean changes until the last one. Stopping once no other class
// could win was rejected: the reported probability, which thresholds use, would depend on the first
// windows only, and at most half of the work could be saved.

#include "router/signals/text_classes.h"

#include "router/text/windows.h"

namespace signalbox::signals {

std::vector<float> window_mean(std::span<const std::string_view> windows,
                               std::span<const engine::Answer> answers, size_t head, size_t heads) {
  std::vector<double> sums;
  size_t bytes = 0;
  for (size_t w = 0; w < windows.size(); ++w) {
    const std::vector<float>& scores = answers[w * heads + head].scores;
    sums.resize(scores.size());
    for (size_t i = 0; i < sums.size(); ++i)
      sums[i] += scores[i] * static_cast<double>(windows[w].size());
    bytes += windows[w].size();
  }
  std::vector<float> out;
  for (const double sum : sums) out.push_back(static_cast<float>(sum / static_cast<double>(bytes)));
  return out;
}

Result<std::vector<std::vector<float>>> text_classes(const engine::TextModel& model,
                                                     std::span<const std::string_view> texts,
                                                     const WindowClassifier& classify) {
  std::vector<std::string_view> windows;
  std::vector<size_t> ends;  // (texts): end of the text's windows in `windows`
  for (const std::string_view text : texts) {
    SIGNALBOX_TRY(const text::Windows pieces, text::windows_of({text}, model));
    windows.insert(windows.end(), pieces.pieces.begin(), pieces.pieces.end());
    ends.push_back(windows.size());
  }
  SIGNALBOX_TRY(const std::vector<engine::Answer> answers, classify(windows));
  const size_t heads = model.heads().size();
  std::vector<std::vector<float>> out;
  size_t first = 0;
  for (const size_t end : ends) {
    const auto text_windows = std::span(windows).subspan(first, end - first);
    const auto text_answers =
        std::span(answers).subspan(first * heads, text_windows.size() * heads);
    for (size_t head = 0; head < heads; ++head)
      out.push_back(window_mean(text_windows, text_answers, head, heads));
    first = end;
  }
  return out;
}

}  // namespace signalbox::signals
