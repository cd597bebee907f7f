// The configuration is only read here; nothing is opened.

#include "router/models/judges.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.h"
#include "router/config/load.h"
#include "router/models/models.h"
#include "router/models/remote_guard.h"

namespace signalbox::models {
namespace {

// Recipes may have signals of the same name. Those that the router adds have the signals at the
// top.
std::string recipe_prefix(const config::Config& config, const config::Routing& routing) {
  for (const config::Recipe& recipe : config.recipes) {
    if (&recipe.routing == &routing && !recipe.name.starts_with(config::kDirectRecipe))
      return recipe.name + ":";
  }
  return "";
}

void find_server(const config::Config& config, const auto& is_it, Judge& out) {
  const auto found = std::ranges::find_if(config.external_models, is_it);
  if (found != config.external_models.end()) out.server = &*found;
}

void set_reason(std::string missing, Judge& out) {
  if (out.server == nullptr) {
    out.why = std::move(missing);
  } else if (out.server->llm_endpoint.address.empty()) {
    out.why = fmt::format("global.model_catalog.external \"{}\" has no llm_endpoint.address",
                          shown_name(*out.server));
  } else if (!out.is_classifier && out.server->llm_model_name.empty()) {
    out.why = fmt::format("global.model_catalog.external \"{}\" has no llm_model_name",
                          shown_name(*out.server));
  } else if (out.question.labels.size() < 2) {
    out.why = "it needs at least two labels";
  }
}

}  // namespace

Judge judge_of(const config::Config& config, const config::Routing& routing,
               const config::ClassifierSignal& signal) {
  Judge out;
  out.key = fmt::format("{}{}/{}", recipe_prefix(config, routing), signal.model, signal.name);
  out.used_by = fmt::format("classifier signal \"{}\"", signal.name);
  out.question.instructions = signal.instructions;
  out.is_classifier = signal.type == config::ClassifierSignal::Type::kHttp;
  out.is_system_one = signal.type == config::ClassifierSignal::Type::kSystemOne;
  const auto add = [&](const std::string& label) {
    auto& labels = out.question.labels;
    if (std::ranges::find(labels, label) == labels.end()) labels.push_back(label);
  };
  for (const std::string& label : signal.labels) add(label);
  for (const std::string& label : find_condition_labels(routing, signal.name)) add(label);
  find_server(
      config, [&](const auto& each) { return each.name == signal.model; }, out);
  set_reason(fmt::format("there is no model \"{}\" in global.model_catalog.external", signal.model),
             out);
  return out;
}

Judge judge_of(const config::Config& config, const config::Routing& routing,
               const config::QuestionSignal& signal) {
  using Kind = config::QuestionSignal::Kind;
  const config::QuestionSignal::Question& question = signal.question;
  Judge out;
  out.key = fmt::format("{}decision: {}", recipe_prefix(config, routing), signal.name);
  out.used_by = fmt::format("decision signal \"{}\"", signal.name);
  out.is_system_one = true;
  out.limit_ms = signal.timeout_ms;
  out.question.instructions = question.instructions;
  if (question.kind == Kind::kYesNo) {
    out.question.kind = RemoteQuestion::Kind::kYesNo;
    out.question.labels = {"yes", "no"};
  } else if (question.kind == Kind::kScore) {
    out.question.kind = RemoteQuestion::Kind::kScore;
    out.question.labels = question.levels;
  }
  for (const config::QuestionSignal::Option& option : question.choices) {
    out.question.labels.push_back(option.key);
    out.question.meanings.push_back(option.description);
  }
  find_server(
      config, [&](const auto& each) { return each.name == signal.server; }, out);
  set_reason(
      fmt::format("there is no model \"{}\" in global.model_catalog.external", signal.server), out);
  return out;
}

std::optional<Judge> preference_judge(const config::Config& config,
                                      const config::Routing& routing) {
  if (routing.preferences.empty() || config.modules.classifier.preference.use_contrastive)
    return std::nullopt;
  Judge out;
  out.used_by = "preference signals";
  out.question.instructions = fmt::format(
      "The text is a user's request. The label is the preference that it shows; {} if it shows "
      "none of the others.",
      config::kNoPreference);
  for (const config::PreferenceSignal& signal : routing.preferences) {
    out.question.labels.push_back(signal.name);
    std::string meaning = signal.description;
    if (!signal.examples.empty())
      meaning += fmt::format("{}for example \"{}\"", meaning.empty() ? "" : " ",
                             fmt::join(signal.examples, "\", \""));
    out.question.meanings.push_back(std::move(meaning));
  }
  out.question.labels.emplace_back(config::kNoPreference);
  find_server(
      config, [](const auto& each) { return ascii::iequals(each.model_role, "preference"); }, out);
  set_reason("no model of global.model_catalog.external has model_role: preference", out);
  out.key = fmt::format("{}{}/preference", recipe_prefix(config, routing),
                        out.server == nullptr ? "" : out.server->name);
  return out;
}

std::string shadow_judge_key(std::string_view server) {
  return fmt::format("shadow_dispatch: {}", server);  // no signal's key has this form
}

namespace {

std::optional<Judge> shadow_judge(const config::Config& config, const config::Decision& decision) {
  const auto& plugin = decision.shadow_dispatch;
  if (!plugin || !plugin->is_on() || plugin->comparison.judge.empty()) return std::nullopt;
  Judge out;
  out.key = shadow_judge_key(plugin->comparison.judge);
  out.used_by = fmt::format("shadow_dispatch of decision \"{}\"", decision.name);
  out.without = "answers are not compared";
  out.question.instructions = "The text is two answers to the same request.";
  out.question.labels = {std::string(kShadowAgrees), std::string(kShadowContradicts), "differ"};
  out.question.meanings = {"A user would be served equally well by both",
                           "One states what the other denies",
                           "Something important is in one of them only"};
  find_server(
      config, [&](const auto& each) { return each.name == plugin->comparison.judge; }, out);
  set_reason(fmt::format("there is no model \"{}\" in global.model_catalog.external",
                         plugin->comparison.judge),
             out);
  return out;
}

}  // namespace

std::vector<Judge> judges_of(const config::Config& config, const config::Routing& routing) {
  std::vector<Judge> out;
  for (const config::ClassifierSignal& signal : routing.classifiers) {
    if (signal.type != config::ClassifierSignal::Type::kLocal)
      out.push_back(judge_of(config, routing, signal));
  }
  for (const config::QuestionSignal& signal : routing.questions) {
    if (signal.unbuilt.empty()) out.push_back(judge_of(config, routing, signal));
  }
  if (auto judge = preference_judge(config, routing)) out.push_back(*std::move(judge));
  for (const config::Decision& decision : routing.decisions) {
    if (auto judge = shadow_judge(config, decision)) out.push_back(*std::move(judge));
  }
  return out;
}

}  // namespace signalbox::models
