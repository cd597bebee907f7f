#pragma once
// Reads a text of any length with a head of an open model, in windows, as the router does
// (router/signals/long_text.h).

#include <string>
#include <string_view>

#include "engine/engine.h"
#include "router/signals/long_text.h"

namespace signalbox::tools {

/// Classifies a text. A head that has the label of a jailbreak attempt is a guard, which judges the
/// text as one of that kind.
Result<signals::TextScores> read_text(const engine::TextModel& model, size_t head,
                                      std::string_view text, signals::TextKind kind);

/// Marks a text; see signals::mark_text().
Result<signals::TextSpans> mark_spans(const engine::TextModel& model, size_t head,
                                      std::string_view text);

/// Returns true if a text has more windows than the router reads.
Result<bool> is_longer_than_windows(const engine::TextModel& model, std::string_view text);

/// Returns the limit of a text in words: "256 windows of 256 tokens".
std::string windows_limit(const engine::TextModel& model);

}  // namespace signalbox::tools
