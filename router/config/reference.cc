// Walks the schema depth first from its root: a section's table, then those of the sections in it.

#include "router/config/reference.h"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "base/ascii.h"
#include "base/json.h"
#include "router/config/load.h"

namespace signalbox::config {
namespace {

constexpr std::string_view kDefinitions = "#/$defs/";
constexpr std::string_view kOpening =
    "# Configuration\n\n"
    "Every key of the file, as `signalbox config reference` prints them; `signalbox config schema` "
    "is the same\n"
    "for editors, and `signalbox config check FILE` holds a file against it. Any value may be "
    "`${VARIABLE}` of\n"
    "the environment. Where a key says that it is not built yet, files that have it are accepted "
    "and told so.\n";

std::string text_of(const json::Value& schema, std::string_view member) {
  const auto found = schema.find(member);
  return found && found->is_string() ? std::string(found->text()) : std::string();
}

/// The path of the section that a schema refers to.
std::optional<std::string> section_of(const json::Value& schema) {
  const std::string reference = text_of(schema, "$ref");
  if (!reference.starts_with(kDefinitions)) return std::nullopt;
  return reference.substr(kDefinitions.size());
}

/// A schema that is no choice between a value and a ${VARIABLE}, or that value's.
json::Value without_variable(json::Value schema) {
  for (auto either = schema.find("anyOf"); either; either = schema.find("anyOf"))
    schema = *either->items().begin();
  return schema;
}

std::string words_of(const json::Value& list) {
  std::string out;
  for (const json::Value& word : list.items()) {
    if (!word.is_string() || word.text().empty()) continue;
    out.append(out.empty() ? "" : ", ").append(fmt::format("`{}`", word.text()));
  }
  return out;
}

std::string bounds_of(const json::Value& schema) {
  // Bounds that are there to keep arithmetic safe tell a reader nothing.
  constexpr double kTold = 1'000'000;
  const auto bound = [&](std::string_view name) -> std::optional<double> {
    const auto found = schema.find(name);
    if (!found) return std::nullopt;
    const auto value = found->number();
    return value && *value <= kTold && *value >= -kTold ? std::optional(*value) : std::nullopt;
  };
  const auto low = bound("minimum");
  const auto high = bound("maximum");
  if (low && high) return fmt::format(", {} to {}", *low, *high);
  if (low && *low > 0) return fmt::format(", from {}", *low);
  return "";
}

std::string type_of(const json::Value& schema);

std::string scalar_of(const json::Value& schema) {
  if (const auto only = schema.find("const")) return fmt::format("`{}`", only->text());
  const auto types = schema.find("type");
  if (!types) return "any";
  const std::string first(types->is_string() ? types->text() : (*types->items().begin()).text());
  const auto pattern = text_of(schema, "pattern");
  if (first == "integer" && pattern.find("iB") != std::string::npos) return "bytes, `64MiB`";
  if (first == "integer" && pattern.find("kKmM") != std::string::npos) return "tokens, `32k`";
  if (first == "string" && pattern.find("ms|s|m|h") != std::string::npos) return "duration, `30s`";
  if (first == "array") {
    const auto items = schema.find("items");
    return items ? fmt::format("list of {}", type_of(*items)) : "list";
  }
  if (first == "object") {
    if (const auto named = schema.find("properties")) {
      std::string keys;
      for (const auto& [key, value] : named->members())
        keys.append(keys.empty() ? "" : ", ").append(fmt::format("`{}`", key));
      return "map with " + keys;
    }
    const auto members = schema.find("additionalProperties");
    return members && members->is_object() ? fmt::format("map of names to {}", type_of(*members))
                                           : "map";
  }
  return first + bounds_of(schema);
}

std::string anchor_of(std::string_view path) {
  std::string out;
  for (const char c : path)
    if (c != '.') out += ascii::lower(c);
  return out;
}

std::string type_of(const json::Value& described) {
  const json::Value schema = without_variable(described);
  if (const auto section = section_of(schema))
    return fmt::format("[{}](#{})", *section, anchor_of(*section));
  if (const auto words = schema.find("enum")) return words_of(*words);
  return scalar_of(schema);
}

class Page {
 public:
  explicit Page(const json::Value& root) : definitions_(*root.find("$defs")) {
    out_ = kOpening;
    section("The file", root);
  }
  std::string take() { return std::move(out_); }

 private:
  void section(std::string_view title, const json::Value& schema) {
    const auto properties = schema.find("properties");
    if (!properties) return;
    out_ += fmt::format("\n## {}\n\n| key | takes | for |\n| --- | --- | --- |\n", title);
    const auto list = schema.find("required");
    const std::string required = list ? words_of(*list) : "";
    for (const auto& [key, value] : properties->members()) {
      if (value.find("deprecated")) continue;  // another name of a key that stands here, too
      const bool needed = required.find(fmt::format("`{}`", key)) != std::string::npos;
      out_ += fmt::format("| `{}`{} | {} | {} |\n", key, needed ? ", required" : "", type_of(value),
                          text_of(value, "description"));
    }
    follow(schema);
  }

  /// The sections that anything in a schema refers to and that have not been written.
  void follow(const json::Value& schema) {
    if (const auto path = section_of(schema)) {
      const auto found = definitions_.find(*path);
      if (found && written_.insert(*path).second) section(*path, *found);
      return;
    }
    for (const json::Value& item : schema.items()) follow(item);
    for (const auto& [key, value] : schema.members()) follow(value);
  }

  json::Value definitions_;
  std::set<std::string> written_;
  std::string out_;
};

}  // namespace

std::string reference() {
  auto document = json::Document::parse(schema());
  if (!document) return document.error().message;  // the schema is our own and always parses
  return Page(document->root()).take();
}

}  // namespace signalbox::config
