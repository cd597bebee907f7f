#pragma once
// Mutations that keep the form of JSON, of server-sent events and of HTTP/1.1. Changed bytes alone
// mostly end in the reader's first check; these reach the code behind it.

#include <cstddef>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <string_view>

namespace signalbox::fuzz {

using Random = std::mt19937;  // neighbouring seeds give unrelated numbers
/// Changes any bytes: libFuzzer's own mutation, or a double in tests.
using ChangeBytes = std::function<std::string(std::string_view)>;

/// `text` must be JSON. The result is JSON again, unless a number or a name is out of range on
/// purpose.
std::string mutate_json(std::string_view text, Random& random, const ChangeBytes& change);

/// Changes an event, the order of events, or the lines that carry them. JSON in `data` stays JSON
/// mostly.
std::string mutate_events(std::string_view text, Random& random, const ChangeBytes& change);

/// Changes a header field, its place, a line end, or the framing of the body.
std::string mutate_http(std::string_view text, Random& random, const ChangeBytes& change);

/// Recognises the form of an input and applies its mutation. Up to two bytes in front of it select
/// a mode in many targets; they stay. nullopt: the form is unknown.
std::optional<std::string> mutate(std::string_view input, Random& random,
                                  const ChangeBytes& change);

}  // namespace signalbox::fuzz
