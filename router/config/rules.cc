// A decision's `rules`: conditions on signals under AND, OR and NOT.

#include <algorithm>
#include <array>

#include "router/config/sections.h"

namespace signalbox::config {
namespace {

constexpr auto kBuiltTypes = std::to_array<std::string_view>({"keyword", "embedding"});
constexpr auto kOtherTypes = std::to_array<std::string_view>(
    {"domain", "fact_check", "user_feedback", "reask", "preference", "language", "context",
     "structure", "complexity", "modality", "authz", "jailbreak", "pii", "kb", "conversation",
     "event", "metadata", "classifier", "projection"});

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

template <class Signal>
std::vector<std::string_view> names_of(const std::vector<Signal>& signals) {
  std::vector<std::string_view> names;
  for (const Signal& signal : signals) names.push_back(signal.name);
  return names;
}

void unknown_type(Reader& reader, uint32_t line, std::string_view type) {
  std::vector<std::string_view> known(kBuiltTypes.begin(), kBuiltTypes.end());
  known.insert(known.end(), kOtherTypes.begin(), kOtherTypes.end());
  reader.at_key("type", [&] {
    reader.error(line, fmt::format("unknown signal type \"{}\"{}", type, suggestion(type, known)));
  });
}

void check_leaf(Reader& reader, const yaml::Node& node, Rule& rule) {
  rule.op = Rule::Operator::kLeaf;
  if (rule.type.empty()) return;
  const uint32_t type_line = node.find("type")->line;
  if (contains(kOtherTypes, rule.type)) return;  // said once a decision, by read_rules()
  if (!contains(kBuiltTypes, rule.type)) return unknown_type(reader, type_line, rule.type);
  if (rule.name.empty()) {
    if (node.find("name") != nullptr) return;
    reader.at_key("name",
                  [&] { reader.error(node.line, "missing; expected the name of a signal"); });
    return;
  }
  for (const std::string_view key : {"label", "predicate", "on_error"}) {
    const yaml::Node* value = node.find(key);
    if (value == nullptr) continue;
    reader.at_key(key,
                  [&] { reader.not_built(value->line, "the condition is evaluated without it"); });
  }
  const Routing& routing = reader.config.routing;
  const auto known =
      rule.type == "keyword" ? names_of(routing.keywords) : names_of(routing.embeddings);
  if (contains(known, rule.name)) return;
  reader.at_key("name", [&] {
    reader.error(node.find("name")->line, fmt::format("unknown {} signal \"{}\" (known: {})",
                                                      rule.type, rule.name, join(known)));
  });
}

void check_rule(Reader& reader, const yaml::Node& node, Rule& rule) {
  rule.line = node.line;
  const bool has_operator = node.find("operator") != nullptr;
  const bool has_type = node.find("type") != nullptr;
  if (has_operator && has_type)
    return reader.error(node.line,
                        "expected type and name, or operator and conditions, found both");
  if (has_type) return check_leaf(reader, node, rule);
  if (!has_operator) {
    if (node.kind == yaml::Kind::kMapping && !node.entries.empty()) {
      reader.error(node.line, "expected type and name, or operator and conditions");
    }
    return;
  }
  if (rule.op == Rule::Operator::kNot && rule.conditions.size() != 1) {
    reader.error(node.line, fmt::format("expected exactly one condition under NOT, found {}",
                                        rule.conditions.size()));
  }
}

const Section<Rule>& rule_section() {
  static const Section<Rule> section{
      {
          optional("type", text(&Rule::type), "the kind of signal"),
          optional("name", text(&Rule::name), "the signal"),
          optional("operator",
                   choice(&Rule::op, {{"AND", Rule::Operator::kAnd},
                                      {"OR", Rule::Operator::kOr},
                                      {"NOT", Rule::Operator::kNot}}),
                   "how conditions combine"),
          optional("conditions", list(&Rule::conditions, rule_section), "what it combines"),
          remark<Rule>("label"),  // these three: see check_leaf()
          remark<Rule>("predicate"),
          remark<Rule>("on_error"),
      },
      check_rule};
  return section;
}

void collect_missing_types(const Rule& rule, std::vector<std::string_view>& types) {
  if (rule.op == Rule::Operator::kLeaf && contains(kOtherTypes, rule.type) &&
      !contains(types, rule.type)) {
    types.push_back(rule.type);
  }
  for (const Rule& condition : rule.conditions) collect_missing_types(condition, types);
}

}  // namespace

void read_rules(Reader& reader, const yaml::Node& node, Rule& out) {
  if (node.kind == yaml::Kind::kNull) return;
  if (node.kind != yaml::Kind::kMapping) return reader.expected(node, "a mapping");
  read_section(reader, node, rule_section(), out);
  std::vector<std::string_view> types;
  collect_missing_types(out, types);
  if (types.empty()) return;
  reader.not_built(node.line,
                   fmt::format("conditions on {} are never met, nor is NOT of them", join(types)));
}

}  // namespace signalbox::config
