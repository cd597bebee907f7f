// All windows are looked at: a mean changes until the last one. To stop when no other class could
// become the best left the probability, which thresholds and what is reported go by, to the windows
// at the beginning, and could not save more than half.

#include "router/signals/text_classes.h"

#include "router/text/windows.h"

namespace signalbox::signals {
namespace {

// answers: (windows, heads), of which head `head` counts.
std::vector<float> window_mean(std::span<const std::string_view> windows,
                               std::span<const engine::Answer> answers, size_t head, size_t heads) {
  std::vector<double> sums;
  size_t bytes = 0;
  for (size_t w = 0; w < windows.size(); ++w) {
    const std::vector<float>& said = answers[w * heads + head].scores;
    sums.resize(said.size());
    for (size_t i = 0; i < sums.size(); ++i)
      sums[i] += said[i] * static_cast<double>(windows[w].size());
    bytes += windows[w].size();
  }
  std::vector<float> out;
  for (const double sum : sums) out.push_back(static_cast<float>(sum / static_cast<double>(bytes)));
  return out;
}

}  // namespace

Result<std::vector<std::vector<float>>> text_classes(const engine::TextModel& model,
                                                     std::span<const std::string_view> texts,
                                                     const AskOfWindows& ask) {
  std::vector<std::string_view> windows;
  std::vector<size_t> ends;  // (texts) in `windows`
  for (const std::string_view text : texts) {
    SIGNALBOX_TRY(const text::Windows of, text::windows_of({text}, model));
    windows.insert(windows.end(), of.pieces.begin(), of.pieces.end());
    ends.push_back(windows.size());
  }
  SIGNALBOX_TRY(const std::vector<engine::Answer> answers, ask(windows));
  const size_t heads = model.heads().size();
  std::vector<std::vector<float>> out;
  size_t first = 0;
  for (const size_t end : ends) {
    const auto mine = std::span(windows).subspan(first, end - first);
    const auto said = std::span(answers).subspan(first * heads, mine.size() * heads);
    for (size_t head = 0; head < heads; ++head) out.push_back(window_mean(mine, said, head, heads));
    first = end;
  }
  return out;
}

}  // namespace signalbox::signals
