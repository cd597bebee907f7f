#pragma once
// Readers of the replies of guards and classifiers on a server. Their errors contain neither the
// text nor the reply.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"

namespace signalbox::models {

/// Reads a list of {"entity_group", "entity" or "label", "score", "start", "end"}, whose offsets
/// are characters of `text`, also inside another list. The types are those that the configuration
/// knows, or PER, ORG, LOC; MISC and O are not personal data. A tag of the position (B-) may stand
/// before them. An empty list means that nothing was found. Error: kUpstream.
Result<std::vector<engine::Entity>> read_spans(std::string body, std::string_view text);

/// Reads the content of the first choice of a chat completion. Error: kUpstream.
Result<std::string> read_chat_content(std::string body);

/// The text without the blanks, quotes and full stops around it.
std::string_view trimmed_label(std::string_view text);

/// The answer behind the model's thoughts and without the fence around it.
std::string_view bare_answer(std::string_view text);

/// Each function reads the body of a reply as scores, (labels + 1): one for each label, and one for
/// everything else. Errors: kUpstream.
///
/// A list of {"label", "score": 0 to 1}, also inside another list, with each of the labels once.
/// Other labels count as everything else.
Result<std::vector<float>> read_label_scores(std::string body, std::span<const std::string> labels);
/// The same list from a classifier whose labels are compared with the classes of a signal.
/// Everything else gets the greatest score of the other labels. The list must be complete, so its
/// scores must add up to 1 (0.98 to 1.02), and it must be for this task, so at least one label must
/// be a class. `names` are the names of the labels LABEL_0, LABEL_1, ...
Result<std::vector<float>> read_class_scores(std::string body, std::span<const std::string> classes,
                                             std::span<const std::string> names);
/// A chat completion whose first line is "safe", "unsafe" or "controversial", also behind
/// "Safety:" and behind thoughts (<think>...</think>). A verdict other than safe counts for the
/// first label. With `by_category` it counts for the label among the categories of the lines below,
/// and for none if there are only others; without readable categories it counts for the first. It
/// is an error if an unsafe verdict or a category follows "safe", or if "safe" is cut off.
Result<std::vector<float>> read_verdict(std::string body, std::span<const std::string> labels,
                                        bool by_category);
/// {"score": 0 to 1}, which counts for the first label.
Result<std::vector<float>> read_hook_score(std::string body, size_t labels);

/// {"score"}, or a list with one {"score"}, also inside another list: any number.
Result<std::vector<float>> read_unbounded_score(std::string body);

}  // namespace signalbox::models
