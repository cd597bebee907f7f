#pragma once
// What a model says of the classes of texts of any length. Signals and the classification API both
// ask here, so that they say the same.

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/engine.h"

namespace signalbox::signals {

/// What each head says of each window, (windows, heads) row-major, as engine::TextModel::answer().
using AskOfWindows =
    std::function<Result<std::vector<engine::Answer>>(std::span<const std::string_view> windows)>;

/// What each head says of each text, (texts, heads) row-major: scores (labels), the mean over the
/// windows of the text, each counting as its length. Empty of a head that labels tokens, and of a
/// text without a token. `ask` is called once, for all windows. Errors are its and the model's.
Result<std::vector<std::vector<float>>> text_classes(const engine::TextModel& model,
                                                     std::span<const std::string_view> texts,
                                                     const AskOfWindows& ask);

}  // namespace signalbox::signals
