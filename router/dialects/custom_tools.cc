// A model may write arguments that are no such object; the tool then gets them as they are.

#include "router/dialects/custom_tools.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/json_writer.h"

namespace signalbox::dialects {
namespace {

constexpr std::string_view kInput = "input";

// Anthropic's servers write a call without input as an empty object.
bool is_empty_object(const json::Value& value) {
  return value.is_object() && !(value.members().begin() != value.members().end());
}

}  // namespace

std::string custom_arguments(std::string_view input) {
  return fmt::format("{{{}:{}}}", json::quote(kInput), json::quote(input));
}

std::string custom_input(std::string_view arguments) {
  const auto document = json::Document::parse(std::string(arguments));
  if (document && is_empty_object(document->root())) return "";
  const auto input = document ? document->root().find(kInput) : std::nullopt;
  return std::string(input && input->is_string() ? input->text() : arguments);
}

}  // namespace signalbox::dialects
