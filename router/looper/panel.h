#pragma once
// Several models side by side: `ratings`, `remom` and `fusion`, and the texts that they share.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "router/looper/looper.h"

namespace signalbox::looper {

/// Every model answers; the answer has a choice of each.
std::unique_ptr<const Algorithm> ratings(const config::Ratings& settings,
                                         std::vector<Voice> voices);

/// Rounds of replies, each round reading those of the round before, then a synthesis.
std::unique_ptr<const Algorithm> remom(const config::Decision& decision, std::vector<Voice> voices,
                                       Conversation conversation);
/// Errors: kInvalid for a breadth_schedule that is empty or out of bounds.
Result<void> check_remom(const config::Decision& decision);

/// A panel of models, and a judge that writes the answer.
std::unique_ptr<const Algorithm> fusion(const config::Decision& decision, std::vector<Voice> voices,
                                        Conversation conversation);

/// The replies of these turns as a model reads them: numbered, each with its model.
std::string quote_replies(std::span<const Turn> turns, const std::vector<size_t>& which,
                          bool with_reasoning = false, size_t bytes_max = SIZE_MAX);

/// The prompt of a synthesis. `text` is a template with {{original}}, {{responses}} and
/// {{analysis}}; one without {{responses}} is an instruction in front of question and replies. A
/// range of a Go template counts as {{responses}}. `contract` is the required form of the answer;
/// "": none.
std::string synthesis_prompt(std::string_view text, const Conversation& conversation,
                             std::string_view responses, std::string_view analysis,
                             std::string_view contract);

/// The last `bytes_max` bytes of a text, from the beginning of a character.
std::string_view tail_of(std::string_view text, size_t bytes_max);

}  // namespace signalbox::looper
