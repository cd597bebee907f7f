// A domain takes the reasoning setting of the decision with its name or, without one, of the first
// decision that has a condition on it.

#include "router/routing/domain_doubt.h"

#include <algorithm>

#include "base/ascii.h"
#include "router/plugins/reasoning/entropy.h"

namespace signalbox::routing {
namespace {

constexpr double kDefaultThreshold = 0.5;

// True if the rule has a condition on the domain that is not under a NOT.
bool has_domain_condition(const config::Rule& rule, std::string_view name) {
  if (rule.op == config::Rule::Operator::kNot) return false;
  if (rule.op == config::Rule::Operator::kLeaf) return rule.type == "domain" && rule.name == name;
  return std::any_of(rule.conditions.begin(), rule.conditions.end(),
                     [&](const config::Rule& each) { return has_domain_condition(each, name); });
}

bool covers_class(const config::DomainSignal& domain, std::string_view domain_class) {
  const auto& classes = domain.mmlu_categories;
  return ascii::lower_case(domain.name) == domain_class ||
         std::any_of(classes.begin(), classes.end(),
                     [&](const auto& each) { return ascii::lower_case(each) == domain_class; });
}

std::optional<bool> reasoning_of(const config::Decision& decision) {
  return decision.model_refs.empty() ? std::nullopt : decision.model_refs.front().use_reasoning;
}

std::optional<bool> class_reasoning(const config::Routing& routing, std::string_view domain_class) {
  const std::string name = ascii::lower_case(domain_class);
  for (const config::Decision& decision : routing.decisions) {
    if (ascii::lower_case(decision.name) == name) return reasoning_of(decision);
  }
  for (const config::Decision& decision : routing.decisions) {
    if (has_domain_condition(decision.rules, domain_class)) return reasoning_of(decision);
    for (const config::DomainSignal& domain : routing.domains) {
      if (covers_class(domain, name) && has_domain_condition(decision.rules, domain.name))
        return reasoning_of(decision);
    }
  }
  return std::nullopt;
}

}  // namespace

DomainDoubt::DomainDoubt(const config::Routing& routing, double threshold,
                         signals::ModelChoice classifier)
    : threshold_(threshold > 0 ? threshold : kDefaultThreshold),
      classifier_(std::move(classifier)) {
  for (const std::string& label : classifier_.labels)
    flags_.push_back(class_reasoning(routing, label));
}

std::optional<bool> DomainDoubt::reasons(const signals::Inputs& inputs) const {
  if (classifier_.model == nullptr) return std::nullopt;
  const auto classes =
      inputs.known_classes("domain", *classifier_.model, inputs.request().user_text());
  if (classes.empty() || classes[classifier_.head].empty()) return std::nullopt;
  return plugins::reason_by_entropy(classes[classifier_.head], flags_, threshold_).reasons;
}

}  // namespace signalbox::routing
