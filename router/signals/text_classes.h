#pragma once
// Classifies texts of any length with a model. Signals and the classification API share this code,
// so their results agree.

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/engine.h"

namespace signalbox::signals {

/// Returns the results of each head for each window, (windows, heads) row-major, in the form of
/// engine::TextModel::answer().
using WindowClassifier =
    std::function<Result<std::vector<engine::Answer>>(std::span<const std::string_view> windows)>;

/// Returns the mean scores (labels) of head `head` over windows, weighted by their length in bytes.
/// answers: (windows, heads), row-major.
std::vector<float> window_mean(std::span<const std::string_view> windows,
                               std::span<const engine::Answer> answers, size_t head, size_t heads);

/// Returns the class scores of each head for each text, (texts, heads) row-major; each entry is
/// (labels), the mean over the windows of the text, weighted by their length in bytes. An entry is
/// empty for a head that labels tokens and for a text without a token. `classify` is called once,
/// for all windows. Returns the errors of `classify` and of the model.
Result<std::vector<std::vector<float>>> text_classes(const engine::TextModel& model,
                                                     std::span<const std::string_view> texts,
                                                     const WindowClassifier& classify);

}  // namespace signalbox::signals
