// The top of the file, and the rules that hold between its parts.

#include "router/config/root.h"

#include <algorithm>

#include "router/config/sections.h"

namespace signalbox::config {
namespace {

Value<Config> version_value() {
  return {"v0.3",
          [](Reader& reader, const yaml::Node& node, Config&) {
            const auto version = reader.scalar(node, "v0.3");
            if (version && version->text != "v0.3") reader.expected(node, "v0.3");
          },
          [](Schema& schema) { schema.out().member("const", "v0.3"); }};
}

void check_auto_names(Reader& reader, const yaml::Node& node, const Config& config) {
  for (size_t i = 0; i < config.providers.models.size(); ++i) {
    for (const std::string& name : config.auto_model_names) {
      if (config.providers.models[i].name != name) continue;
      const yaml::Node& model = node.find("providers")->find("models")->items[i];
      reader.at_key("providers.models", [&] {
        reader.at_index(i, [&] {
          reader.at_key("name", [&] {
            reader.error(
                model.find("name")->line,
                fmt::format("\"{}\" means that the router chooses; expected another name", name));
          });
        });
      });
    }
  }
}

/// An address and a port that the process listens on by a key.
struct Taken {
  std::string by;
  std::string_view address;
  uint16_t port;
};

bool is_same(const Taken& a, const Taken& b) {
  const auto is_all = [](std::string_view address) {
    return address == "0.0.0.0" || address == "::";
  };
  return a.port == b.port && a.port != 0 &&
         (a.address == b.address || is_all(a.address) || is_all(b.address));
}

void check_ports(Reader& reader, const yaml::Node& node, const Config& config) {
  std::vector<Taken> taken;
  if (config.management.enabled)
    taken.push_back(
        {"global.services.management_api", config.management.bind_address, config.management.port});
  const Observability::Metrics& metrics = config.observability.metrics;
  if (metrics.enabled && metrics.port)
    taken.push_back({"global.services.observability.metrics", metrics.bind_address, *metrics.port});
  if (config.ext_proc.enabled)
    taken.push_back({"global.services.ext_proc", config.ext_proc.address, config.ext_proc.port});
  for (size_t i = 0; i < config.listeners.size(); ++i) {
    const Listener& listener = config.listeners[i];
    Taken own{fmt::format("listener \"{}\"", listener.name), listener.address, listener.port};
    const auto other = std::find_if(taken.begin(), taken.end(),
                                    [&](const Taken& each) { return is_same(each, own); });
    if (other != taken.end()) {
      reader.at_key("listeners", [&] {
        reader.at_index(i, [&] {
          reader.at_key("port", [&] {
            reader.error(node.find("listeners")->items[i].find("port")->line,
                         fmt::format("{} is the port of {} as well", own.port, other->by));
          });
        });
      });
    }
    taken.push_back(std::move(own));
  }
}

void check_strangers(Reader& reader, const yaml::Node& node, const Config& config) {
  if (config.authz.fail_open) return;
  for (const Routing* routing : routings_of(config)) {
    if (!routing->role_bindings.empty()) return;
  }
  const yaml::Node* authz = node.find("global")->find("services")->find("authz");
  reader.at_key("global.services.authz.fail_open", [&] {
    reader.notice(authz->find("fail_open")->line,
                  "no routing has role_bindings: requests that name nobody are let pass");
  });
}

void check_file(Reader& reader, const yaml::Node& node, Config& config) {
  check_ports(reader, node, config);
  check_auto_names(reader, node, config);
  check_entrypoints(reader, node, config);
  check_recipes(reader, node, config);
  check_answers(reader, node, config);
  check_strangers(reader, node, config);
  add_default_listener(config);
}

}  // namespace

// Where answers are kept says nothing of which: who switches that on expects them to be.
void check_answers(Reader& reader, const yaml::Node& node, const Config& config) {
  const yaml::Node* global = node.find("global");
  const yaml::Node* stores = global == nullptr ? nullptr : global->find("stores");
  if (stores == nullptr || !keeps_answers(config.response_cache)) return;
  for (const std::string_view key : {"response_cache", "semantic_cache"}) {
    const yaml::Node* store = stores->find(key);
    const yaml::Node* enabled = store == nullptr ? nullptr : store->find("enabled");
    if (enabled == nullptr) continue;
    const auto keeps = [](const Decision& decision) { return decision.response_cache.has_value(); };
    for (const Routing* routing : routings_of(config)) {
      if (std::any_of(routing->decisions.begin(), routing->decisions.end(), keeps)) return;
    }
    reader.at_key(fmt::format("global.stores.{}", key), [&] {
      reader.notice(enabled->line,
                    "it keeps the answers of decisions with the plugin response_cache, and none "
                    "has it: every request reaches its model");
    });
  }
}

Value<Routing> strategy_value() {
  using Strategy = Routing::Strategy;
  return choice(&Routing::strategy, {{"priority", Strategy::kPriority},
                                     {"confidence", Strategy::kConfidence},
                                     {"fusion", Strategy::kFusion}});
}

const Section<Config>& root_section() {
  static const Section<Config> section{
      {
          required("version", version_value(), "of the format"),
          optional("listeners", named_list(&Config::listeners, listener_section),
                   "where clients connect"),
          required("providers", object(&Config::providers, providers_section), "the models behind"),
          optional("global", group(global_section),
                   "the process and its models"),  // before routing, whose strategy wins
          optional("routing", main_routing_value(), "who answers what"),
          optional("entrypoints", list(&Config::entrypoints, entrypoint_section),
                   "model names that lead to recipes"),
          optional("recipes", named_list(&Config::recipes, recipe_section),
                   "routings beside the one above"),
          optional("setup", anything(&Config::setup), "of tools that write this file")
              .not_built("it has no effect"),
          removed<Config>("signals", "they are routing.signals"),
          removed<Config>("decisions", "they are routing.decisions"),
          removed<Config>("default_model", "it is providers.defaults.default_model"),
          removed<Config>("reasoning_families", "they are providers.defaults.reasoning_families"),
          removed<Config>("vllm_endpoints", "each of providers.models has its backend_refs"),
          removed<Config>("model_config", "models are listed in providers.models"),
          removed<Config>("categories", "they are routing.signals.domains"),
          removed<Config>("classifier", "it is global.model_catalog.modules.classifier"),
          removed<Config>("prompt_guard", "it is global.model_catalog.modules.prompt_guard"),
          removed<Config>("semantic_cache", "it is global.stores.response_cache"),
          removed<Config>("tools", "they are global.integrations.tools"),
          removed<Config>("bert_model", "it is global.model_catalog.embeddings.semantic"),
          removed<Config>("keyword_rules", "they are routing.signals.keywords"),
          removed<Config>("embedding_rules", "they are routing.signals.embeddings"),
          removed<Config>("observability", "it is global.services.observability"),
          removed<Config>("api", "it is global.services.api"),
      },
      check_file};
  return section;
}

}  // namespace signalbox::config
