// Describes the format: as JSON Schema for editors, and as a page for people that is made of the
// schema. Both come from the tables that the reader uses. Each section is one definition, named
// after the first path that leads to it, so that sections may contain themselves.

#include <fmt/format.h>

#include <deque>
#include <set>

#include "base/ascii.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "router/config/load.h"
#include "router/config/sections.h"

namespace signalbox::config {
namespace {

// --- the schema ---

constexpr std::string_view kVariable = "variable";  // the definition of a ${VARIABLE}
constexpr std::string_view kDefinitions = "#/$defs/";

std::string reference_to(std::string_view name) {
  return std::string(kDefinitions).append(name);
}

/// A pattern that matches the word in upper and lower case: "[aA][nN][dD]".
std::string any_case(std::string_view word) {
  std::string out;
  for (const char c : word) {
    if (ascii::is_alpha(c)) {
      out.append({'[', ascii::lower(c), ascii::upper(c), ']'});
    } else {
      out.push_back(c);
    }
  }
  return out;
}

/// The text of a key and the consequence of its having no effect.
std::string description_of(const Key& key) {
  std::string out(key.text);
  if (key.consequence.empty()) return out;
  if (key.effective.empty()) return out.append(fmt::format(" (no effect: {})", key.consequence));
  std::string words;
  for (const std::string_view word : split_words(key.effective)) {
    if (word != "yes" && word != "on" && word != "no" && word != "off")
      words.append(words.empty() ? "`" : ", `").append(word).append("`");
  }
  return out.append(fmt::format(" (other than {}: no effect: {})", words, key.consequence));
}

/// Writes one document. Every value may be null, which is the same as a missing key, and every
/// scalar may contain a ${VARIABLE}.
class SchemaWriter {
 public:
  std::string document() {
    out_.begin_object();
    out_.member("$schema", "https://json-schema.org/draft/2020-12/schema");
    out_.member("title", "Signalbox configuration, version v0.3");
    section(kRoot);
    definitions();
    return out_.end_object().take();
  }

 private:
  struct Definition {
    std::string name;
    const Section* section;
  };

  /// "type": [names..., "null"]
  void type(std::initializer_list<std::string_view> names) {
    out_.key("type").begin_array();
    for (const std::string_view name : names) out_.string(name);
    out_.string("null").end_array();
  }

  /// "key": { members }
  template <class Members>
  void nested(std::string_view key, const Members& members) {
    out_.key(key).begin_object();
    members();
    out_.end_object();
  }

  /// Either the members or a string with a ${VARIABLE} in it.
  template <class Members>
  void or_variable(const Members& members) {
    out_.key("anyOf").begin_array().begin_object();
    members();
    out_.end_object().begin_object().member("$ref", reference_to(kVariable));
    out_.end_object().end_array();
  }

  /// A string, or a scalar that YAML takes for another type and the reader for text.
  void text() { type({"string", "number", "boolean"}); }
  void number() {
    or_variable([&] { type({"number"}); });
  }

  /// One of the words, in upper or lower case.
  void words(const std::vector<std::string_view>& words) {
    or_variable([&] {
      out_.key("anyOf").begin_array().begin_object().key("enum").begin_array();
      for (const std::string_view word : words) out_.string(word);
      out_.null().end_array().end_object().begin_object();
      std::string pattern;
      for (const std::string_view word : words)
        pattern.append(pattern.empty() ? "^(" : "|").append(any_case(word));
      out_.member("type", "string").member("pattern", pattern.append(")$"));
      out_.end_object().end_array();
    });
  }

  template <class Items>
  void list(const Items& items) {
    type({"array"});
    nested("items", items);
  }
  template <class Values>
  void map(const Values& values) {
    type({"object"});
    nested("additionalProperties", values);
  }

  void refer_to(const Section& target) {
    const auto found = names_.emplace(&target, path_);
    if (found.second) waiting_.push_back({path_, &target});
    out_.member("$ref", reference_to(found.first->second));
  }

  void section_or_text(const Section& target) {
    out_.key("anyOf").begin_array().begin_object();
    refer_to(target);
    out_.end_object().begin_object();
    text();
    out_.end_object().end_array();
  }

  void value(const Key& key) {
    switch (key.kind) {
      case Kind::kText:
        text();
        out_.member("minLength", 1);
        return;
      case Kind::kString:
        return text();
      case Kind::kChoice:
      case Kind::kWord:
        return words(words_for(key));
      case Kind::kConstant:
        out_.member("const", key.words);
        return;
      case Kind::kTexts:
        return list([&] { text(); });
      case Kind::kTextLists:
        return list([&] { list([&] { text(); }); });
      case Kind::kNumbers:
        return list([&] { number(); });
      case Kind::kTextMap:
        return map([&] { text(); });
      case Kind::kNumberMap:
        return map([&] { number(); });
      case Kind::kTextsMap:
        return map([&] { list([&] { text(); }); });
      case Kind::kObject:
        return key.may_be_text ? section_or_text(*key.section) : refer_to(*key.section);
      case Kind::kList:
      case Kind::kNamed:
        return list([&] { refer_to(*key.section); });
      case Kind::kMap:
        return map([&] { refer_to(*key.section); });
      case Kind::kVariants:
        return list([&] { variants(key.variants); });
      case Kind::kAnything:
      case Kind::kRemark:
      case Kind::kRemoved:
        return;
      default:
        return or_variable([&] { scalar(key); });
    }
  }

  void scalar(const Key& key) {
    switch (key.kind) {
      case Kind::kBoolean:
        return type({"boolean"});
      case Kind::kInteger:
        type({"integer"});
        out_.member("minimum", key.low).member("maximum", key.high);
        return;
      case Kind::kNumber:
        type({"number"});
        out_.member("minimum", key.least).member("maximum", key.most);
        return;
      case Kind::kBytes:
        type({"integer", "string"});
        out_.member("minimum", 0).member("pattern", "^[0-9]+([KMG]iB)?$");
        return;
      case Kind::kTokens:
        type({"integer", "string"});
        out_.member("minimum", 0).member("pattern", "^ *[0-9.]+ *[kKmM]? *$");
        return;
      default:
        type({"string"});
        out_.member("pattern", key.may_be_empty ? "^ *(0|([0-9.]+(ms|s|m|h))*) *$"
                                                : "^ *(0|([0-9.]+(ms|s|m|h))+) *$");
        return;
    }
  }

  static std::vector<std::string_view> words_for(const Key& key) {
    std::vector<std::string_view> words = split_words(key.words);
    for (const Choice& choice : key.choices) words.push_back(choice.word);
    if (key.kind == Kind::kWord && !key.is_exact) words.emplace_back();
    return words;
  }

  // An element of a kVariants list: the schema of `configuration` follows from `type`.
  void variants(std::span<const Variant> forms) {
    type({"object"});
    out_.member("additionalProperties", false);
    out_.key("required").begin_array().string("type").end_array();
    std::vector<std::string_view> all;
    for (const Variant& form : forms) {
      for (const std::string_view name : split_words(form.names)) all.push_back(name);
    }
    nested("properties", [&] {
      nested("type", [&] {
        words(all);
        out_.member("description", "The plugin.");
      });
      nested("configuration", [&] { out_.member("description", "Its settings."); });
    });
    out_.key("allOf").begin_array();
    for (const Variant& form : forms) variant(form);
    out_.end_array();
  }

  void variant(const Variant& form) {
    out_.begin_object();
    nested("if", [&] {
      nested("properties", [&] {
        nested("type", [&] {
          out_.key("enum").begin_array();
          for (const std::string_view name : split_words(form.names)) out_.string(name);
          out_.end_array();
        });
      });
    });
    nested("then", [&] {
      nested("properties", [&] {
        at(form.configuration.name,
           [&] { nested("configuration", [&] { value(form.configuration); }); });
      });
    });
    out_.end_object();
  }

  void property(std::string_view name, const Key& key) {
    nested(name, [&] {
      at(key.name, [&] { value(key); });
      if (name != key.name) out_.member("deprecated", true);
      out_.member("description", description_of(key));
    });
  }

  void section(const Section& section) {
    type({"object"});
    out_.member("additionalProperties", false);
    nested("properties", [&] {
      for (const Key& key : section.keys) {
        if (key.kind == Kind::kRemoved) continue;
        property(key.name, key);
        if (!key.alias.empty()) property(key.alias, key);
      }
    });
    out_.key("required").begin_array();
    for (const Key& key : section.keys) {
      if (key.is_required && key.alias.empty()) out_.string(key.name);
    }
    out_.end_array();
  }

  // Written one after the other after the root; each may add more.
  void definitions() {
    out_.key("$defs").begin_object();
    out_.key(kVariable).begin_object().member("type", "string").member("pattern", "\\$\\{");
    out_.member("description", "A value from an environment variable.").end_object();
    while (!waiting_.empty()) {
      const Definition next = std::move(waiting_.front());
      waiting_.pop_front();
      path_ = next.name;
      nested(next.name, [&] { section(*next.section); });
    }
    out_.end_object();
  }

  /// Runs body() with the path one key longer.
  template <class Body>
  void at(std::string_view key, const Body& body) {
    const size_t length = path_.size();
    if (!path_.empty()) path_.push_back('.');
    path_ += key;
    body();
    path_.resize(length);
  }

  json::Writer out_;
  std::string path_;
  std::map<const Section*, std::string> names_;
  std::deque<Definition> waiting_;
};

// --- the page ---

constexpr std::string_view kOpening =
    "# Configuration\n\n"
    "Every key of the file, as `signalbox config reference` prints them. `signalbox config schema` "
    "prints the same\n"
    "for editors, and `signalbox config check FILE` checks a file. Any value may contain "
    "`${VARIABLE}` of the\n"
    "environment. A file with a key that has no effect is accepted with a notice; "
    "[upstream.md](upstream.md) lists these keys\n"
    "with the reasons.\n";

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

/// The schema without the alternative of a ${VARIABLE}.
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
  // Greater bounds only keep arithmetic safe; people need not know them.
  constexpr double kBoundShownMax = 1'000'000;
  const auto bound = [&](std::string_view name) -> std::optional<double> {
    const auto found = schema.find(name);
    if (!found) return std::nullopt;
    const auto value = found->number();
    return value && *value <= kBoundShownMax && *value >= -kBoundShownMax ? std::optional(*value)
                                                                          : std::nullopt;
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
    out_ += fmt::format("\n## {}\n\n| key | type | meaning |\n| --- | --- | --- |\n", title);
    const auto list = schema.find("required");
    const std::string required = list ? words_of(*list) : "";
    for (const auto& [key, value] : properties->members()) {
      if (value.find("deprecated")) continue;  // an alias of another key
      const bool needed = required.find(fmt::format("`{}`", key)) != std::string::npos;
      out_ += fmt::format("| `{}`{} | {} | {} |\n", key, needed ? ", required" : "", type_of(value),
                          text_of(value, "description"));
    }
    follow(schema);
  }

  /// Writes the sections that a schema refers to, each once.
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

std::string schema() {
  return SchemaWriter().document();
}

std::string reference() {
  auto document = json::Document::parse(schema());
  if (!document) return document.error().message;  // never: the schema is our own
  return Page(document->root()).take();
}

}  // namespace signalbox::config
