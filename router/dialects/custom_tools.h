#pragma once
// Custom tools, whose input is a text and not JSON, in APIs that know functions only. A function
// with one text as its only parameter stands for such a tool.

#include <string>
#include <string_view>

namespace signalbox::dialects {

/// The schema of the function's parameters.
inline constexpr std::string_view kCustomParameters =
    R"({"type":"object","properties":{"input":{"type":"string"}},"required":["input"]})";

/// The arguments of the function that stand for the tool's input.
std::string custom_arguments(std::string_view input);

/// The tool's input: the server wrote it as the only member of an object.
std::string custom_input(std::string_view arguments);

}  // namespace signalbox::dialects
