// `routing`, `recipes` and `entrypoints`: the routing of the file, and others beside it.

#include <algorithm>
#include <map>

#include "router/config/sections.h"

namespace signalbox::config {
namespace {

const Section<ModelCard::Lora>& lora_section() {
  using L = ModelCard::Lora;
  static const Section<L> section{{
      required("name", text(&L::name), "of the adapter"),
      optional("description", string(&L::description), "what it is good at"),
  }};
  return section;
}

const Section<ModelCard>& model_card_section() {
  using C = ModelCard;
  static const Section<C> section{{
      required("name", text(&C::name), "of the model"),
      optional("param_size", string(&C::param_size), "such as 8B"),
      optional("context_window_size", count(&C::context_window_size), "tokens"),
      optional("description", string(&C::description), "what it is good at"),
      optional("capabilities", texts(&C::capabilities), "the same in words to match"),
      optional("quality_score", number(&C::quality_score), "how good it is altogether"),
      optional("modality", string(&C::modality), "ar, text, omni, diffusion"),
      optional("tags", texts(&C::tags), "for people and tools"),
      optional("loras", named_list(&C::loras, lora_section), "its adapters"),
  }};
  return section;
}

const Section<Routing>& routing_section() {
  using R = Routing;
  static const Section<R> section{{
      optional("strategy", strategy_value(), "what orders the decisions that match"),
      optional("override_confidence", number(&R::override_confidence, 0, 1),
               "with fusion: what outranks every less confident decision"),
      optional("modelCards", named_list(&R::model_cards, model_card_section),
               "what is known about models")
          .not_built("the cards of models are not consulted"),
      optional("signals", group(signals_section), "what is looked for in a request"),
      optional("projections", object(&R::projections, projections_section),
               "signals derived from others"),
      optional("decisions", named_list(&R::decisions, decision_section), "what follows from it"),
      removed<R>("models", "they are modelCards"),
  }};
  return section;
}

// A routing in which conditions find its own signals.
template <class T>
Value<T> routing_value(Routing T::*member) {
  return {"a mapping",
          [member](Reader& reader, const yaml::Node& node, T& out) {
            reader.routing = &(out.*member);
            read_section(reader, node, routing_section(), out.*member);
            reader.routing = nullptr;
          },
          [](Schema& schema) { refer_to(schema, routing_section); }};
}

}  // namespace

Value<Config> main_routing_value() {
  return routing_value(&Config::routing);
}

const Section<Recipe>& recipe_section() {
  static const Section<Recipe> section{{
      required("name", text(&Recipe::name), "what entrypoints call it"),
      optional("description", string(&Recipe::description), "for people"),
      optional("routing", routing_value(&Recipe::routing), "who answers what"),
  }};
  return section;
}

const Section<Entrypoint>& entrypoint_section() {
  static const Section<Entrypoint> section{{
      required("model_names", texts(&Entrypoint::model_names), "that clients ask for"),
      required("recipe", text(&Entrypoint::recipe), "one of recipes, or default"),
  }};
  return section;
}

void check_entrypoints(Reader& reader, const yaml::Node& node, const Config& config) {
  std::vector<std::string_view> known{kDefaultRecipe};
  for (const Recipe& recipe : config.recipes) known.push_back(recipe.name);
  std::map<std::string_view, uint32_t> taken;  // line, or 0: of a model
  for (const Model& model : config.providers.models) taken.emplace(model.name, 0);
  for (size_t i = 0; i < config.entrypoints.size(); ++i) {
    const Entrypoint& entrypoint = config.entrypoints[i];
    const yaml::Node& at = node.find("entrypoints")->items[i];
    const auto error = [&](std::string_view key, uint32_t line, const std::string& message) {
      reader.at_key("entrypoints", [&] {
        reader.at_index(i, [&] { reader.at_key(key, [&] { reader.error(line, message); }); });
      });
    };
    const std::string& name = entrypoint.recipe;
    if (!name.empty() && std::find(known.begin(), known.end(), name) == known.end()) {
      error("recipe", at.find("recipe")->line,
            fmt::format("unknown recipe \"{}\"{}", name, suggestion(name, known)));
    }
    const yaml::Node* names = at.find("model_names");
    for (const std::string& model : entrypoint.model_names) {
      const auto [other, is_new] = taken.emplace(model, names->line);
      if (is_new) continue;
      const uint32_t line = other->second;
      error("model_names", names->line,
            line == 0
                ? fmt::format("\"{}\" is one of providers.models; expected another name", model)
                : fmt::format("\"{}\" is taken since line {}", model, line));
    }
  }
}

void check_recipes(Reader& reader, const yaml::Node& node, const Config& config) {
  if (config.routing.decisions.empty()) return;
  for (size_t i = 0; i < config.recipes.size(); ++i) {
    if (config.recipes[i].name != kDefaultRecipe) continue;
    reader.at_key("recipes", [&] {
      reader.at_index(i, [&] {
        reader.at_key("name", [&] {
          reader.error(
              node.find("recipes")->items[i].find("name")->line,
              "\"default\" means the routing at the top of the file; expected another name");
        });
      });
    });
  }
}

}  // namespace signalbox::config
