#pragma once
// Completions that are made of several replies.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "router/looper/looper.h"

namespace signalbox::looper {

/// One completion with the choices of all these turns, in their order. Each choice names its model;
/// the usage is the sum. Precondition: all of them have replies, at least one.
std::string compose_choices(std::span<const Turn> turns, const std::vector<size_t>& which);

/// The completion with one more member at its end; "" without an extension.
std::string extended(const std::string& completion, std::optional<Extension> extension);

/// The completion with this usage, if it reports one.
std::string with_usage(const std::string& completion, uint64_t prompt, uint64_t completed);

/// {"model", "content", "reasoning"?}, for each turn with a reply; for others {"model", "error"}.
std::string describe_turns(std::span<const Turn> turns);

}  // namespace signalbox::looper
