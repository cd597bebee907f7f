// A domain's decision is the one of its name, or the first that asks for it.

#include "router/routing/domain_doubt.h"

#include <algorithm>

#include "base/ascii.h"
#include "router/plugins/reasoning/entropy.h"

namespace signalbox::routing {
namespace {

constexpr double kSureFrom = 0.5;

// Whether a decision asks for the domain, other than under NOT.
bool asks_for_domain(const config::Rule& rule, std::string_view name) {
  if (rule.op == config::Rule::Operator::kNot) return false;
  if (rule.op == config::Rule::Operator::kLeaf) return rule.type == "domain" && rule.name == name;
  return std::any_of(rule.conditions.begin(), rule.conditions.end(),
                     [&](const config::Rule& each) { return asks_for_domain(each, name); });
}

bool stands_for(const config::DomainSignal& domain, std::string_view domain_class) {
  const auto& classes = domain.mmlu_categories;
  return ascii::lower_case(domain.name) == domain_class ||
         std::any_of(classes.begin(), classes.end(),
                     [&](const auto& each) { return ascii::lower_case(each) == domain_class; });
}

std::optional<bool> says(const config::Decision& decision) {
  return decision.model_refs.empty() ? std::nullopt : decision.model_refs.front().use_reasoning;
}

std::optional<bool> reasons_in(const config::Routing& routing, std::string_view domain_class) {
  const std::string name = ascii::lower_case(domain_class);
  for (const config::Decision& decision : routing.decisions) {
    if (ascii::lower_case(decision.name) == name) return says(decision);
  }
  for (const config::Decision& decision : routing.decisions) {
    if (asks_for_domain(decision.rules, domain_class)) return says(decision);
    for (const config::DomainSignal& domain : routing.domains) {
      if (stands_for(domain, name) && asks_for_domain(decision.rules, domain.name))
        return says(decision);
    }
  }
  return std::nullopt;
}

}  // namespace

DomainDoubt::DomainDoubt(const config::Routing& routing, double threshold,
                         signals::ModelChoice classifier)
    : threshold_(threshold > 0 ? threshold : kSureFrom), classifier_(std::move(classifier)) {
  for (const std::string& label : classifier_.labels) flags_.push_back(reasons_in(routing, label));
}

std::optional<bool> DomainDoubt::reasons(const signals::Inputs& inputs) const {
  if (classifier_.model == nullptr) return std::nullopt;
  const auto said =
      inputs.known_classes("domain", *classifier_.model, inputs.request().user_text());
  if (said.empty() || said[classifier_.head].empty()) return std::nullopt;
  return plugins::reason_by_entropy(said[classifier_.head], flags_, threshold_).reasons;
}

}  // namespace signalbox::routing
