#pragma once
// The router's own heads as stand-ins: if the directory of a classifier does not exist, the head of
// ours that is trained for the same question answers instead of it.

#include <span>
#include <string>
#include <string_view>

namespace signalbox::models {

/// Returns the name under which all code compares a label: lower case, words joined by "_", and one
/// name for labels of the same meaning ("SAT" and "satisfied").
std::string plain_label(std::string_view label);

/// Returns the task of a published classifier by the words in the name of its directory, such as
/// "domain" for models/mmbert32k-intent-classifier-merged; "" if the name has none of them.
std::string_view find_task(std::string_view directory);

/// Returns the directory of our head for a task: the type of a signal, "nli" or "hallucination". It
/// lies beside `missing` or under models/ in the working directory, whichever exists. "" if neither
/// does, or if our head lacks one of the labels.
std::string find_stand_in(std::string_view task, const std::string& missing,
                          std::span<const std::string> labels = {});

/// Returns `directory` if it exists or has no stand-in, otherwise the stand-in.
std::string present_or_stand_in(std::string_view task, const std::string& directory);

}  // namespace signalbox::models
