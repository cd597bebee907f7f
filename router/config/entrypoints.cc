// `entrypoints`: the names under which clients reach recipes. A rule of an entrypoint is for
// requests with a path and headers. Among the rules that match, the narrowest one holds, so
// their order has no meaning.

#include <algorithm>
#include <map>
#include <span>

#include "base/ascii.h"
#include "router/config/sections.h"

namespace signalbox::config {
namespace {

constexpr Choice kPathTypes[] = {{"exact", EntrypointMatch::Path::Type::kExact},
                                 {"path_prefix", EntrypointMatch::Path::Type::kPrefix}};

constexpr Key kMatchPathKeys[] = {
    choice(FIELD(EntrypointMatch::Path, type), kPathTypes,
           "The whole path, or its first segments. Default: `exact`."),
    text(FIELD(EntrypointMatch::Path, value), "The path, such as `/v1/chat/completions`.")
        .required(),
};
constexpr Section kMatchPath{kMatchPathKeys};

constexpr Key kMatchHeaderKeys[] = {
    text(FIELD(EntrypointMatch::Header, name), "Name of the header.").required(),
    word(FIELD(EntrypointMatch::Header, type), "exact", "The kind of comparison: `exact`."),
    string(FIELD(EntrypointMatch::Header, value), "Value of the header.").required(),
};
constexpr Section kMatchHeader{kMatchHeaderKeys};

constexpr Key kEntrypointMatchKeys[] = {
    object(FIELD(EntrypointMatch, path), kMatchPath, "Path of the request. Default: any."),
    list(FIELD(EntrypointMatch, headers), kMatchHeader,
         "Headers that the request must all have. Default: none."),
};
constexpr Section kEntrypointMatch{kEntrypointMatchKeys};

constexpr Key kEntrypointRuleKeys[] = {
    text(FIELD(EntrypointRule, name), "Name for messages.").required(),
    list(FIELD(EntrypointRule, matches), kEntrypointMatch,
         "Requests of which one form suffices. Default: all requests."),
    text(FIELD(EntrypointRule, recipe), "One of `recipes`, or `default`.").required(),
};
constexpr Section kEntrypointRule{kEntrypointRuleKeys};

using MatchPath = EntrypointMatch::Path;

// Without a slash at the end, so that a prefix ends where a segment of the path does.
std::string_view plain_path(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return path;
}

bool has_path(const MatchPath& wanted, std::string_view path) {
  const std::string_view value = plain_path(wanted.value);
  path = plain_path(path);
  if (wanted.value.empty() || path == value) return true;
  return wanted.type == MatchPath::Type::kPrefix && path.starts_with(value) &&
         path[value.size()] == '/';
}

// True if every path of `a` is one of `b`.
bool is_within(const MatchPath& a, const MatchPath& b) {
  if (a.value.empty()) return b.value.empty();
  if (b.type == MatchPath::Type::kExact && a.type != b.type && !b.value.empty()) return false;
  return has_path(b, a.value);
}

bool has_headers(const EntrypointMatch& match, const HeaderLookup& header) {
  return std::ranges::all_of(match.headers, [&](const EntrypointMatch::Header& wanted) {
    const auto value = header ? header(wanted.name) : std::nullopt;
    return value && *value == wanted.value;
  });
}

// A lookup of the headers that a rule requires.
HeaderLookup headers_of(const EntrypointMatch& match) {
  return [&match](std::string_view name) -> std::optional<std::string_view> {
    for (const EntrypointMatch::Header& each : match.headers) {
      if (ascii::iequals(each.name, name)) return each.value;
    }
    return std::nullopt;
  };
}

// True if every request of `a` is one of `b`.
bool is_within(const EntrypointMatch& a, const EntrypointMatch& b) {
  return is_within(a.path, b.path) && has_headers(b, headers_of(a));
}

bool may_meet(const EntrypointMatch& a, const EntrypointMatch& b) {
  const HeaderLookup of_b = headers_of(b);
  const bool agrees = std::ranges::all_of(a.headers, [&](const EntrypointMatch::Header& each) {
    return of_b(each.name).value_or(each.value) == each.value;
  });
  return agrees && (is_within(a.path, b.path) || is_within(b.path, a.path));
}

// A rule without matches is for all requests.
std::span<const EntrypointMatch> matches_of(const EntrypointRule& rule) {
  static const EntrypointMatch all;
  if (rule.matches.empty()) return {&all, 1};
  return rule.matches;
}

// True if a request may match both rules, and neither is narrower.
bool are_ambiguous(const EntrypointRule& rule, const EntrypointRule& other) {
  for (const EntrypointMatch& a : matches_of(rule)) {
    for (const EntrypointMatch& b : matches_of(other)) {
      if (may_meet(a, b) && is_within(a, b) == is_within(b, a)) return true;
    }
  }
  return false;
}

void check_matches(Reader& reader, const yaml::Node& node, const EntrypointRule& rule) {
  for (size_t m = 0; m < rule.matches.size(); ++m) {
    const EntrypointMatch& match = rule.matches[m];
    const uint32_t line = node.find("matches")->items[m].line;
    const std::string& path = match.path.value;
    if (!path.empty() && (!path.starts_with('/') || path.find_first_of("?#") != path.npos)) {
      reader.at_key(fmt::format("matches[{}].path.value", m), [&] {
        reader.error(line, fmt::format("expected a path that begins with \"/\", without query "
                                       "and fragment, found \"{}\"",
                                       path));
      });
    }
    for (size_t h = 0; h < match.headers.size(); ++h) {
      const std::string& name = match.headers[h].name;
      if (headers_of(match)(name)->data() == match.headers[h].value.data()) continue;
      reader.at_key(fmt::format("matches[{}].headers[{}]", m, h), [&] {
        reader.error(line, fmt::format("the header \"{}\" is required twice", name));
      });
    }
  }
}

void check_entrypoint(Reader& reader, const yaml::Node& node, Entrypoint& out) {
  const yaml::Node* recipe = given(node, "recipe");
  const bool has_recipe =
      recipe != nullptr && !(recipe->kind == yaml::Kind::kScalar && recipe->scalar.empty());
  if (has_recipe == !out.rules.empty()) {
    reader.at_key("recipe", [&] {
      reader.error(node.line, has_recipe ? "expected either recipe or rules, found both"
                                         : "missing; expected a string, or rules instead");
    });
  }
  for (size_t i = 0; i < out.rules.size(); ++i) {
    const yaml::Node& at = node.find("rules")->items[i];
    reader.at_key(fmt::format("rules[{}]", i), [&] {
      check_matches(reader, at, out.rules[i]);
      for (size_t other = 0; other < i; ++other) {
        if (!are_ambiguous(out.rules[other], out.rules[i])) continue;
        reader.error(at.line,
                     fmt::format("a request may match \"{}\" as well as \"{}\", and neither is "
                                 "narrower than the other",
                                 out.rules[i].name, out.rules[other].name));
      }
    });
  }
}

constexpr Choice kEntrypointApis[] = {{"chat", Entrypoint::Api::kChat},
                                      {"systemone", Entrypoint::Api::kSystemOne}};

constexpr Key kEntrypointKeys[] = {
    choice(FIELD(Entrypoint, api), kEntrypointApis,
           "API of the requests. Default: `chat`, in any of its forms."),
    remark("name"),
    remark("description"),
    texts(FIELD(Entrypoint, model_names), "Model names of requests that use the recipe.")
        .required(),
    string(FIELD(Entrypoint, recipe), "One of `recipes`, or `default`. Required without `rules`."),
    named(FIELD(Entrypoint, rules), kEntrypointRule,
          "Recipes by the path and the headers of a request. Among the rules that match, the "
          "narrowest one holds; if none does, the client gets 404."),
    unbound("assignments", Kind::kRemark,
            "Names of the recipe's decisions, each with `models`, which has the form of "
            "`modelRefs`: the decisions use these models."),
};

}  // namespace

constinit const Section kEntrypoint{kEntrypointKeys, checked<check_entrypoint>};

std::string_view recipe_of(const Entrypoint& entrypoint, const HeaderLookup& header) {
  if (entrypoint.rules.empty()) return entrypoint.recipe;
  const std::string_view path =
      (header ? header(":path") : std::nullopt).value_or("/v1/chat/completions");
  std::string_view recipe;
  const EntrypointMatch* narrowest = nullptr;
  for (const EntrypointRule& rule : entrypoint.rules) {
    for (const EntrypointMatch& match : matches_of(rule)) {
      if (!has_path(match.path, path) || !has_headers(match, header)) continue;
      if (narrowest != nullptr && !is_within(match, *narrowest)) continue;
      recipe = rule.recipe;
      narrowest = &match;
    }
  }
  return recipe;
}

bool is_open_to(const Entrypoint& entrypoint, const HeaderLookup& header) {
  return entrypoint.rules.empty() ||
         std::ranges::any_of(entrypoint.rules, [&](const EntrypointRule& rule) {
           return std::ranges::any_of(matches_of(rule), [&](const EntrypointMatch& match) {
             return has_headers(match, header);
           });
         });
}

std::vector<std::string_view> recipes_of(const Entrypoint& entrypoint) {
  std::vector<std::string_view> out;
  if (entrypoint.rules.empty()) out.push_back(entrypoint.recipe);
  for (const EntrypointRule& rule : entrypoint.rules) out.push_back(rule.recipe);
  return out;
}

void check_entrypoints(Reader& reader, const yaml::Node& node, const Config& config) {
  std::vector<std::string_view> known{kDefaultRecipe};
  for (const Recipe& recipe : config.recipes) known.push_back(recipe.name);
  std::map<std::string_view, uint32_t> taken;  // the line; 0 for a model
  for (const Model& model : config.providers.models) taken.emplace(model.name, 0);
  std::map<std::string_view, uint32_t> taken_natively = taken;  // by entrypoints of System One
  for (size_t i = 0; i < config.entrypoints.size(); ++i) {
    const Entrypoint& entrypoint = config.entrypoints[i];
    const yaml::Node& at = node.find("entrypoints")->items[i];
    const auto error = [&](std::string_view key, uint32_t line, const std::string& message) {
      reader.at_key(fmt::format("entrypoints[{}].{}", i, key),
                    [&] { reader.error(line, message); });
    };
    const auto check_recipe = [&](std::string_view key, const yaml::Node& holder,
                                  const std::string& name) {
      if (name.empty() || std::find(known.begin(), known.end(), name) != known.end()) return;
      error(key, holder.find("recipe")->line,
            fmt::format("unknown recipe \"{}\"{}", name, suggestion(name, known)));
    };
    check_recipe("recipe", at, entrypoint.recipe);
    for (size_t r = 0; r < entrypoint.rules.size(); ++r)
      check_recipe(fmt::format("rules[{}].recipe", r), at.find("rules")->items[r],
                   entrypoint.rules[r].recipe);
    const yaml::Node* names = at.find("model_names");
    for (const std::string& model : entrypoint.model_names) {
      auto& of_api = entrypoint.api == Entrypoint::Api::kChat ? taken : taken_natively;
      const auto [other, is_new] = of_api.emplace(model, names->line);
      if (is_new) continue;
      const uint32_t line = other->second;
      error("model_names", names->line,
            line == 0
                ? fmt::format("\"{}\" is one of providers.models; expected another name", model)
                : fmt::format("\"{}\" is already used on line {}", model, line));
    }
  }
}

}  // namespace signalbox::config
