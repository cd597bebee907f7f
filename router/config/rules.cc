// A decision's `rules`: conditions on signals under AND, OR and NOT. A condition is checked against
// the signals of the routing it stands in.

#include <algorithm>
#include <array>

#include "router/config/sections.h"

namespace signalbox::config {
namespace {

using Names = std::vector<std::string>;

template <class Signal>
Names names_of(const std::vector<Signal>& signals) {
  Names names;
  for (const Signal& signal : signals) names.push_back(signal.name);
  return names;
}

template <class Signal>
Names names_and(const std::vector<Signal>& signals, std::initializer_list<std::string_view> more) {
  Names names = names_of(signals);
  for (const std::string_view name : more) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
  }
  return names;
}

Names complexity_names(const Routing& routing) {
  Names names;
  for (const ComplexitySignal& signal : routing.complexity) {
    for (const std::string_view level : {":hard", ":medium", ":easy"})
      names.push_back(std::string(signal.name).append(level));
  }
  return names;
}

Names role_names(const Routing& routing) {
  Names names;
  for (const RoleBinding& binding : routing.role_bindings) names.push_back(binding.role);
  return names;
}

Names output_names(const Routing& routing) {
  Names names;
  for (const Mapping& mapping : routing.projections.mappings) {
    for (const Mapping::Output& output : mapping.outputs) names.push_back(output.name);
  }
  return names;
}

struct SignalType {
  std::string_view name;
  Names (*names)(const Routing&);  // that conditions may ask for
};

// The names of classes need not be listed among the signals: the classifier has them.
constexpr auto kSignalTypes = std::to_array<SignalType>({
    {"keyword", [](const Routing& r) { return names_of(r.keywords); }},
    {"embedding", [](const Routing& r) { return names_of(r.embeddings); }},
    {"intent", [](const Routing& r) { return names_of(r.intents); }},
    {"domain",
     [](const Routing& r) {
       return names_and(r.domains, {"biology", "business", "chemistry", "computer science",
                                    "economics", "engineering", "health", "history", "law", "math",
                                    "other", "philosophy", "physics", "psychology"});
     }},
    {"fact_check",
     [](const Routing& r) {
       return names_and(r.fact_check, {"needs_fact_check", "no_fact_check_needed"});
     }},
    {"user_feedback",
     [](const Routing& r) {
       return names_and(r.user_feedbacks,
                        {"satisfied", "need_clarification", "wrong_answer", "want_different"});
     }},
    {"reask", [](const Routing& r) { return names_of(r.reasks); }},
    {"preference", [](const Routing& r) { return names_of(r.preferences); }},
    {"language", [](const Routing& r) { return names_of(r.language); }},
    {"context", [](const Routing& r) { return names_of(r.context); }},
    {"structure", [](const Routing& r) { return names_of(r.structure); }},
    {"complexity", complexity_names},
    {"modality",
     [](const Routing& r) {
       return names_and(r.modality, {"AR", "DIFFUSION", "BOTH"});
     }},
    {"authz", role_names},
    {"jailbreak", [](const Routing& r) { return names_of(r.jailbreak); }},
    {"pii", [](const Routing& r) { return names_of(r.pii); }},
    {"kb", [](const Routing& r) { return names_of(r.kb); }},
    {"conversation", [](const Routing& r) { return names_of(r.conversation); }},
    {"event", [](const Routing& r) { return names_of(r.events); }},
    {"metadata", [](const Routing& r) { return names_of(r.metadata); }},
    {"classifier", [](const Routing& r) { return names_of(r.classifiers); }},
    {"projection", output_names},
});

const SignalType* find_type(std::string_view name) {
  const auto found = std::find_if(kSignalTypes.begin(), kSignalTypes.end(),
                                  [&](const SignalType& type) { return type.name == name; });
  return found == kSignalTypes.end() ? nullptr : &*found;
}

std::vector<std::string_view> type_names() {
  std::vector<std::string_view> names;
  for (const SignalType& type : kSignalTypes) names.push_back(type.name);
  return names;
}

void unknown_signal_type(Reader& reader, uint32_t line, std::string_view type) {
  reader.at_key("type", [&] {
    reader.error(line,
                 fmt::format("unknown signal type \"{}\"{}", type, suggestion(type, type_names())));
  });
}

void check_name(Reader& reader, uint32_t line, const SignalType& type, std::string_view name) {
  if (reader.routing == nullptr) return;
  const Names names = type.names(*reader.routing);
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  const std::vector<std::string_view> known(names.begin(), names.end());
  reader.at_key("name", [&] {
    reader.error(
        line, fmt::format("unknown {} signal \"{}\"{}", type.name, name, suggestion(name, known)));
  });
}

// A classifier matches by its classes. Those that the signal does not list are its model's.
void check_label(Reader& reader, const yaml::Node& node, const Rule& rule) {
  const yaml::Node* written = node.find("label");
  if (written == nullptr) {
    return reader.at_key("label", [&] {
      reader.error(node.line, "missing; expected the class of the classifier that is meant");
    });
  }
  if (reader.routing == nullptr) return;
  const auto& all = reader.routing->classifiers;
  const auto signal = std::find_if(all.begin(), all.end(),
                                   [&](const auto& each) { return each.name == rule.name; });
  if (signal == all.end() || signal->labels.empty()) return;
  const std::vector<std::string_view> known(signal->labels.begin(), signal->labels.end());
  if (std::find(known.begin(), known.end(), rule.label) != known.end()) return;
  reader.at_key("label", [&] {
    reader.error(written->line, fmt::format("\"{}\" is no label of the classifier \"{}\"{}",
                                            rule.label, rule.name, suggestion(rule.label, known)));
  });
}

void check_leaf(Reader& reader, const yaml::Node& node, Rule& rule) {
  rule.op = Rule::Operator::kLeaf;
  if (rule.type.empty()) return;
  const SignalType* type = find_type(rule.type);
  if (type == nullptr) return unknown_signal_type(reader, node.find("type")->line, rule.type);
  if (rule.name.empty()) {
    if (node.find("name") != nullptr) return;
    reader.at_key("name",
                  [&] { reader.error(node.line, "missing; expected the name of a signal"); });
    return;
  }
  check_name(reader, node.find("name")->line, *type, rule.name);
  if (rule.type == "classifier") check_label(reader, node, rule);
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
  using OnError = Rule::OnError;
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
          optional("label", text(&Rule::label), "of type classifier: the class that is meant"),
          optional("predicate", object(&Rule::predicate, predicate_section),
                   "bounds of the signal's score"),
          optional("on_error",
                   choice(&Rule::on_error,
                          {{"match", OnError::kMatch}, {"no_match", OnError::kNoMatch}}),
                   "what holds when the signal cannot be computed"),
      },
      check_rule};
  return section;
}

}  // namespace

Value<Decision> rules_value() {
  return {"a mapping",
          [](Reader& reader, const yaml::Node& node, Decision& out) {
            read_section(reader, node, rule_section(), out.rules);
          },
          [](Schema& schema) { refer_to(schema, rule_section); }};
}

Value<DifficultyCase> when_value() {
  return {"a mapping",
          [](Reader& reader, const yaml::Node& node, DifficultyCase& out) {
            read_section(reader, node, rule_section(), out.when);
          },
          [](Schema& schema) { refer_to(schema, rule_section); }};
}

Value<ComplexitySignal> composer_value() {
  return {"a mapping",
          [](Reader& reader, const yaml::Node& node, ComplexitySignal& out) {
            read_section(reader, node, rule_section(), out.composer.emplace());
          },
          [](Schema& schema) { refer_to(schema, rule_section); }};
}

bool is_signal_type(std::string_view type) {
  return find_type(type) != nullptr;
}

}  // namespace signalbox::config
