// The top of the file, and the rules that hold between its parts.

#include <algorithm>

#include "base/ascii.h"
#include "base/yaml_tree.h"
#include "router/config/endpoint.h"
#include "router/config/load.h"
#include "router/config/sections.h"

namespace signalbox::config {
namespace {

using namespace std::chrono_literals;
using yaml::tree::find_path;

void check_auto_names(Reader& reader, const yaml::Node& node, const Config& config) {
  for (size_t i = 0; i < config.providers.models.size(); ++i) {
    for (const std::string& name : config.auto_model_names) {
      if (config.providers.models[i].name != name) continue;
      const yaml::Node& model = node.find("providers")->find("models")->items[i];
      reader.at_key(fmt::format("providers.models[{}].name", i), [&] {
        reader.notice(
            model.find("name")->line,
            fmt::format("\"{}\" lets the router choose, so chats cannot name this model", name));
      });
    }
  }
}

/// An address and a port on which the process listens, and the key that sets them.
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

std::vector<Taken> taken_by_services(const Config& config) {
  std::vector<Taken> out;
  const Observability::Metrics& metrics = config.observability.metrics;
  if (metrics.enabled && metrics.port)
    out.push_back({"global.services.observability.metrics", metrics.bind_address, *metrics.port});
  if (config.ext_proc.enabled)
    out.push_back({"global.services.ext_proc", config.ext_proc.address, config.ext_proc.port});
  return out;
}

Taken taken_by(const Listener& listener) {
  return {fmt::format("listener \"{}\"", listener.name), listener.address, listener.port};
}

Taken taken_by(const ManagementApi& management) {
  return {"global.services.management_api", management.bind_address, management.port};
}

// Files of the Semantic Router have listeners on our default port of the management API. A port
// that the file sets stays, and check_ports() refuses a second use of it.
void move_management(Reader& reader, const yaml::Node& node, Config& config) {
  if (!config.management.enabled) return;
  const yaml::Node* port = find_path(node, "global.services.management_api.port");
  if (port != nullptr && port->kind != yaml::Kind::kNull) return;
  std::vector<Taken> taken = taken_by_services(config);
  for (const Listener& listener : config.listeners) taken.push_back(taken_by(listener));
  const auto is_taken = [&] {
    const Taken own = taken_by(config.management);
    return std::ranges::any_of(taken, [&](const Taken& each) { return is_same(each, own); });
  };
  const uint16_t usual = config.management.port;
  while (is_taken() && config.management.port < usual + taken.size()) ++config.management.port;
  if (config.management.port == usual) return;
  reader.at_key("global.services.management_api.port", [&] {
    reader.notice(node.find("listeners") == nullptr ? node.line : node.find("listeners")->line,
                  fmt::format("{}, because the usual port {} has another use",
                              config.management.port, usual));
  });
}

void check_ports(Reader& reader, const yaml::Node& node, const Config& config) {
  std::vector<Taken> taken = taken_by_services(config);
  if (config.management.enabled) taken.insert(taken.begin(), taken_by(config.management));
  for (size_t i = 0; i < config.listeners.size(); ++i) {
    Taken own = taken_by(config.listeners[i]);
    const auto other = std::find_if(taken.begin(), taken.end(),
                                    [&](const Taken& each) { return is_same(each, own); });
    if (other != taken.end()) {
      reader.at_key(fmt::format("listeners[{}].port", i), [&] {
        reader.error(node.find("listeners")->items[i].find("port")->line,
                     fmt::format("{} is also the port of {}", own.port, other->by));
      });
    }
    taken.push_back(std::move(own));
  }
}

// Gives a notice if fail_open is false but no routing has roles to check.
void check_strangers(Reader& reader, const yaml::Node& node, const Config& config) {
  if (config.authz.fail_open) return;
  for (const Routing* routing : routings_of(config)) {
    if (!routing->role_bindings.empty()) return;
  }
  const yaml::Node* authz = node.find("global")->find("services")->find("authz");
  reader.at_key("global.services.authz.fail_open", [&] {
    reader.notice(
        authz->find("fail_open")->line,
        "has no effect; no routing has role_bindings, so requests without an identity pass");
  });
}

// The thresholds of a file that does not name our embedding model were chosen for another. A model
// of the file's own is the one that they were chosen for.
void note_foreign_thresholds(const yaml::Node& root, Config& config) {
  const yaml::Node* node =
      find_path(root, "global.model_catalog.embeddings.semantic.minilm_model_path");
  EmbeddingModel& model = config.embedding_model;
  const bool is_ours = model.path_key == "minilm_model_path" && !model.is_remote();
  model.has_foreign_thresholds = node == nullptr && is_ours;
}

// A model without backends has the servers that Envoy knows. The router cannot call them.
bool is_envoys(const Model& model) {
  return !model.backend_refs.empty() && model.backend_refs.front().is_envoys;
}

// Other machines reach a listener without an address only if the router knows its clients.
void bind_listeners(const yaml::Node& root, Config& config) {
  const yaml::Node* node = root.find("listeners");
  if (config.listeners.empty() && std::ranges::none_of(config.providers.models, is_envoys))
    config.listeners.push_back({.name = "http-8801", .port = 8801});
  if (!config.access.requires_key()) return;
  for (size_t i = 0; i < config.listeners.size(); ++i) {
    const bool is_written =
        node != nullptr && i < node->items.size() && node->items[i].find("address") != nullptr;
    if (!is_written) config.listeners[i].address = "0.0.0.0";
  }
}

// Files stay on one server, which all later requests for them must reach.
void check_files_model(Reader& reader, const yaml::Node& root, const Config& config) {
  const std::string& name = config.apis.files_model;
  if (name.empty() || config.providers.models.empty()) return;
  const Model* model = config.providers.find(name);
  const yaml::Node* api = root.find("global")->find("api");
  const std::string_view why = model == nullptr ? "there is no such model" : why_no_files(*model);
  if (why.empty()) return;
  reader.at_key("global.api.files_model", [&] {
    reader.error(api->find("files_model")->line, fmt::format("\"{}\": {}", name, why));
  });
}

// A judge of preferences has an answer for the case that none of them applies.
void check_preferences(Reader& reader, const yaml::Node& node, const std::string& path) {
  const yaml::Node* preferences = find_path(node, "routing.signals.preferences");
  if (preferences == nullptr) return;
  for (size_t i = 0; i < preferences->items.size(); ++i) {
    const yaml::Node* name = preferences->items[i].find("name");
    if (name == nullptr || !ascii::iequals(name->scalar, kNoPreference)) continue;
    reader.at_key(fmt::format("{}routing.signals.preferences[{}].name", path, i), [&] {
      reader.error(name->line, fmt::format("\"{}\" is the judge's answer if no preference applies; "
                                           "expected another name",
                                           name->scalar));
    });
  }
}

void check_judged_preferences(Reader& reader, const yaml::Node& node, const Config& config) {
  if (config.modules.classifier.preference.use_contrastive) return;
  check_preferences(reader, node, "");
  const yaml::Node* recipes = node.find("recipes");
  for (size_t i = 0; recipes != nullptr && i < recipes->items.size(); ++i)
    check_preferences(reader, recipes->items[i], fmt::format("recipes[{}].", i));
}

void check_detector(Reader& reader, const yaml::Node& root, const HallucinationDetector& detector) {
  if (detector.backend != "endpoint" || !detector.model.enabled) return;
  constexpr std::string_view kPath =
      "global.model_catalog.modules.hallucination_mitigation.detector";
  const yaml::Node* at = find_path(root, kPath);
  const auto refuse = [&](std::string_view key, const std::string& why) {
    reader.at_key(fmt::format("{}.{}", kPath, key),
                  [&] { reader.error(at == nullptr ? root.line : at->line, why); });
  };
  if (const auto url = parse_base_url(detector.endpoint); !url)
    refuse("endpoint", fmt::format("backend endpoint: {}", url.error().message));
  if (detector.model.model_id.empty())
    refuse("model_id", "backend endpoint requires the name of the server's model");
}

// A line of the file would not do: a file may have one line, and resources of Kubernetes have none.
void name_image_servers(Config& config) {
  const auto name = [](Routing& routing, const std::string& recipe) {
    for (Decision& decision : routing.decisions) {
      if (!decision.image_gen) continue;
      decision.image_gen->server.name = fmt::format("{}{} (image_gen)", recipe, decision.name);
    }
  };
  name(config.routing, "");
  for (Recipe& recipe : config.recipes) name(recipe.routing, recipe.name + "/");
}

// A model must not get a request without its documents.
void refuse_unserved_documents(Reader& reader, Config& config) {
  if (is_served(config.vector_store)) return;
  const auto refuse = [&](Routing& routing) {
    for (Decision& decision : routing.decisions) {
      const auto& rag = decision.rag;
      if (!rag || !rag->enabled || !is_built(*rag) || !searches(*rag, "vectorstore")) continue;
      decision.missing_plugins.emplace_back(
          "rag with the backend vectorstore (global.stores.vector_store is not enabled)");
      reader.does_without(decision.line,
                          "rag with the backend vectorstore needs "
                          "global.stores.vector_store.enabled: requests that reach this decision "
                          "are refused");
    }
  };
  refuse(config.routing);
  for (Recipe& recipe : config.recipes) refuse(recipe.routing);
}

void note_missing_reranker(Reader& reader, const Config& config) {
  for (const Routing* routing : routings_of(config)) {
    if (!reranker_of(config, *routing).empty()) continue;
    for (const Decision& decision : routing->decisions) {
      if (!decision.rag || !decision.rag->enabled || !decision.rag->rerank) continue;
      reader.does_without(decision.line,
                          "rerank of rag: no binding names the model of rag.reranker: " +
                              std::string(decision.rag->on_failure == "block"
                                              ? "requests that reach this decision are refused"
                                              : "documents are in the order of their search"));
    }
  }
}

// The plan of a decision sees its modality only in conditions that are not under a NOT.
bool may_want_text_and_image(const Rule& rule) {
  if (rule.op == Rule::Operator::kLeaf) return rule.type == "modality" && rule.name == "BOTH";
  return rule.op != Rule::Operator::kNot &&
         std::ranges::any_of(rule.conditions, may_want_text_and_image);
}

bool is_painter(const Routing& routing, const std::string& model) {
  return std::ranges::any_of(routing.model_cards, [&](const ModelCard& card) {
    return card.name == model && ascii::iequals(card.modality, "diffusion");
  });
}

// The first model of the decision that the router itself calls, although only Envoy has its
// address; null if there is none. `loops`: the decision calls several models. `writes`: it answers
// with a text and an image.
const ModelRef* find_model_of_envoy(const Config& config, const Routing& routing,
                                    const Decision& decision, bool loops, bool writes) {
  for (const ModelRef& ref : decision.model_refs) {
    const Model* model = config.providers.find(ref.model);
    const bool is_called = loops || (writes && !is_painter(routing, ref.model));
    if (is_called && model != nullptr && is_envoys(*model)) return &ref;
  }
  return nullptr;
}

// A notice names the decisions whose calls the router makes itself even for requests from Envoy,
// because Envoy may reach a model that the router does not reach. Without an address it is an
// error.
void check_direct_call(Reader& reader, const Config& config, const Routing& routing,
                       const Decision& decision) {
  const bool draws = decision.image_gen && decision.image_gen->enabled;
  const bool loops = calls_several(decision.algorithm, decision.model_refs.size());
  if (decision.fast_response || (!draws && !loops)) return;
  const bool writes = draws && may_want_text_and_image(decision.rules);
  if (const ModelRef* ref = find_model_of_envoy(config, routing, decision, loops, writes))
    reader.error(decision.line, fmt::format("decision \"{}\": the router itself calls the model "
                                            "\"{}\"; expected backend_refs of this model",
                                            decision.name, ref->model));
  const std::string_view called = !draws ? "its models at their backend_refs"
                                  : loops
                                      ? "the image server and its models"
                                      : "the image server, and its model for a text with an image";
  reader.notice(decision.line,
                fmt::format("decision \"{}\": for requests from Envoy, too, the router itself "
                            "calls {}; the router must reach these addresses, and Envoy must "
                            "wait for the answer (docs/envoy.md)",
                            decision.name, called));
}

void check_direct_calls(Reader& reader, const Config& config) {
  if (!config.ext_proc.enabled) return;
  for (const Routing* routing : routings_of(config)) {
    for (const Decision& decision : routing->decisions)
      check_direct_call(reader, config, *routing, decision);
  }
}

bool searches_qdrant(const Config& config) {
  const auto searches_it = [](const Decision& decision) {
    return decision.rag && decision.rag->enabled && searches(*decision.rag, "qdrant");
  };
  return std::ranges::any_of(routings_of(config), [&](const Routing* routing) {
    return std::ranges::any_of(routing->decisions, searches_it);
  });
}

void check_backends(Reader& reader, const yaml::Node& root, Config& config) {
  const bool has_envoy_alone = config.ext_proc.enabled && config.listeners.empty();
  for (size_t i = 0; i < config.providers.models.size(); ++i) {
    std::vector<BackendRef>& refs = config.providers.models[i].backend_refs;
    if (!refs.empty()) continue;
    if (has_envoy_alone) {
      BackendRef& ref = refs.emplace_back();
      ref.name = ref.type = "envoy";
      ref.is_envoys = true;
      continue;
    }
    const yaml::Node* at = find_path(root, "providers.models");
    if (at->items[i].find("backend_refs") != nullptr) continue;  // an empty list is an error, too
    reader.at_key(fmt::format("providers.models[{}].backend_refs", i), [&] {
      reader.error(at->items[i].line,
                   "missing; expected a list of mappings, because listeners serve clients, and the "
                   "router calls the servers itself");
    });
  }
}

// No server gets a key of `global.access`, so the backend would get no key at all.
void refuse_forwarded_keys(Reader& reader, const yaml::Node& root, const Config& config) {
  if (!config.access.requires_key()) return;
  for (size_t i = 0; i < config.providers.models.size(); ++i) {
    const std::vector<BackendRef>& refs = config.providers.models[i].backend_refs;
    for (size_t j = 0; j < refs.size(); ++j) {
      if (!refs[j].forwards_authorization) continue;
      const yaml::Node& model = find_path(root, "providers.models")->items[i];
      const yaml::Node& backend = model.find("backend_refs")->items[j];
      reader.at_key(
          fmt::format("providers.models[{}].backend_refs[{}].forward_authorization_header", i, j),
          [&] {
            reader.error(backend.find("forward_authorization_header")->line,
                         "the server would get no key, because the clients' keys and tokens are "
                         "those of global.access; expected api_key_env or api_key without this "
                         "key");
          });
    }
  }
}

void note_unrecorded_texts(Reader& reader, const yaml::Node& root, const Config& config) {
  if (config.router_replay.capture_personal_data) return;
  constexpr std::string_view kPath = "global.services.router_replay.capture_personal_data";
  const auto loses_texts = [](const Decision& decision) {
    const auto& replay = decision.router_replay;
    return replay && replay->capture_personal_data && captures_texts(*replay);
  };
  for (const Routing* routing : routings_of(config)) {
    if (std::ranges::any_of(routing->decisions, loses_texts))
      return note_lost_texts(reader, kPath, find_path(root, kPath)->line);
  }
}

// Newer files name a card by the catalogue's name of its model.
void adopt_cards(Config& config) {
  const auto adopt = [&](std::vector<ModelCard>& cards) {
    const auto card_of = [&](const std::string& name) {
      return std::ranges::find(cards, name, &ModelCard::name);
    };
    for (const Model& model : config.providers.models) {
      if (model.catalog.empty() || card_of(model.name) != cards.end()) continue;
      const auto found = card_of(model.catalog);
      if (found == cards.end()) continue;
      ModelCard card = *found;
      card.name = model.name;
      cards.push_back(std::move(card));
    }
  };
  adopt(config.routing.model_cards);
  for (Recipe& recipe : config.recipes) adopt(recipe.routing.model_cards);
}

void check_file(Reader& reader, const yaml::Node& node, Config& config) {
  if (given(node, "version") == nullptr)
    reader.at_key("version",
                  [&] { reader.notice(node.line, "missing; the file is read as v0.3"); });
  name_image_servers(config);
  check_backends(reader, node, config);
  refuse_forwarded_keys(reader, node, config);
  adopt_cards(config);
  apply_bindings(reader, config);
  move_management(reader, node, config);
  check_ports(reader, node, config);
  check_auto_names(reader, node, config);
  check_entrypoints(reader, node, config);
  check_apis(reader, node, config);
  check_recipes(reader, node, config);
  check_answers(reader, node, config);
  refuse_unserved_documents(reader, config);
  note_missing_reranker(reader, config);
  check_direct_calls(reader, config);
  note_unrecorded_texts(reader, node, config);
  reader.settle(searches_qdrant(config));
  check_strangers(reader, node, config);
  check_files_model(reader, node, config);
  check_judged_preferences(reader, node, config);
  check_modules_on_servers(reader, node, config);
  check_detector(reader, node, config.modules.hallucination_mitigation.detector);
  note_foreign_thresholds(node, config);
  bind_listeners(node, config);
}

// Clients without a key must not get in.
void refuse_keys(Reader& reader, const yaml::Node& node, void*) {
  if (is_idle(node)) return;
  reader.error(node.line,
               "a listener has no keys of its own; global.access.keys has the keys of clients");
}

// An address of IPv6 may name its interface: "fe80::1%eth0".
void check_listener(Reader& reader, const yaml::Node& node, Listener& out) {
  check_tls_pair(reader, node, out);
  const std::string_view address = std::string_view(out.address).substr(0, out.address.find('%'));
  const bool is_ip = address.find('/') == std::string_view::npos && parse_network(address);
  if (address.empty() || is_ip || address == "localhost") return;
  reader.at_key("address", [&] {
    reader.expected(*node.find("address"), "an IP address of this machine, such as 0.0.0.0");
  });
}

constexpr Key kPublishedKeys[] = {
    texts(FIELD_AS("models", Listener, system_one),
          "Names of models and of entrypoints, both of System One."),
};
constexpr Section kPublished{kPublishedKeys};

constexpr Key kListenerKeys[] = {
    text(FIELD(Listener, name), "Name in logs and messages.").required(),
    text(
        FIELD(Listener, address),
        "Address of the interface to bind. Default: 127.0.0.1, or 0.0.0.0 if requests need a key."),
    integer(FIELD(Listener, port), 0, 65535, "TCP port; 0 lets the system choose one.").required(),
    duration(FIELD(Listener, timeout), 1ms, 24h,
             "Time limit of a whole request, including its reply. Default: 300s."),
    text(FIELD(Listener, tls_cert_path),
         "PEM file of the certificate and its chain, for HTTPS instead of HTTP. Signalbox only."),
    text(FIELD(Listener, tls_key_path), "PEM file of the certificate's key. Signalbox only."),
    object(same<Listener>("systemone"), kPublished,
           "Names under which clients reach `/v1/systemone`. All listeners have the same. Default: "
           "none."),
    unbound("api_keys", Kind::kAnything, "Refused, unless it is empty.").with(refuse_keys),
};
constexpr Section kListener{kListenerKeys, checked<check_listener>};

constexpr Key kGlobalKeys[] = {
    object(FIELD(Config, access), kClientAccess,
           "The clients that may send requests. Signalbox only."),
    object(FIELD(Config, spending), kSpending,
           "Counts what requests spend, and limits it. Signalbox only."),
    object(FIELD_AS("api", Config, apis), kClientApis,
           "Requests of one API for servers of another. Signalbox only."),
    object(same<Config>("router"), kRouter, "The router itself."),
    object(same<Config>("services"), kServices, "Ports and services of the process."),
    object(same<Config>("stores"), kStores, "The data that is kept between requests."),
    object(same<Config>("integrations"), kIntegrations, "Tools and other services."),
    object(same<Config>("model_catalog"), kCatalog, "Models that classify requests."),
    unread("billing", "Currency of the prices.", "`pricing.currency` of each model holds"),
    removed("modules", "use global.model_catalog.modules"),
    removed("models", "use global.model_catalog"),
    removed("runtime", "use global.router and global.services"),
};
constexpr Section kGlobal{kGlobalKeys};

constexpr Key kRootKeys[] = {
    constant("version", "v0.3", "Version of the format. Default: v0.3, with a notice."),
    named(FIELD(Config, listeners), kListener, "Ports for clients. Default: 8801."),
    object(FIELD(Config, providers), kProviders, "The models that answer requests.").required(),
    // Before routing, which overrides its strategy.
    object(same<Config>("global"), kGlobal, "The process and its own models."),
    object(FIELD(Config, routing), kRouting, "The choice of a model for each request.")
        .read_by<read_routing>(),
    list(FIELD(Config, entrypoints), kEntrypoint, "Model names that select a recipe."),
    named(FIELD(Config, recipes), kRecipe, "Further routings."),
    anything(FIELD(Config, setup), "Data of tools that write this file.")
        .no_effect("it is for the tools that write this file"),
    unread("evaluation", "Results of benchmarks.",
           "`quality_score` of a model's card is its quality"),
    removed("signals", "use routing.signals"),
    removed("decisions", "use routing.decisions"),
    removed("default_model", "use providers.defaults.default_model"),
    removed("reasoning_families", "use providers.defaults.reasoning_families"),
    removed("vllm_endpoints", "use backend_refs of each of providers.models"),
    removed("model_config", "use providers.models"),
    removed("categories", "use routing.signals.domains"),
    removed("classifier", "use global.model_catalog.modules.classifier"),
    removed("prompt_guard", "use global.model_catalog.modules.prompt_guard"),
    removed("semantic_cache", "use global.stores.response_cache"),
    removed("tools", "use global.integrations.tools"),
    removed("bert_model", "use global.model_catalog.embeddings.semantic"),
    removed("keyword_rules", "use routing.signals.keywords"),
    removed("embedding_rules", "use routing.signals.embeddings"),
    removed("observability", "use global.services.observability"),
    removed("api", "use global.services.api"),
};

}  // namespace

constinit const Section kRoot{kRootKeys, checked<check_file>};

bool finds_memories_by_words(const Config& config) {
  for (const Routing* routing : routings_of(config)) {
    for (const Decision& decision : routing->decisions) {
      const MemoryPlugin* const plugin = memory_of(config.memory, decision);
      if (plugin != nullptr && finds_by_words(config.memory, *plugin)) return true;
    }
  }
  return false;
}

// A store that is switched on explicitly should keep something.
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
                    "has no effect; no decision has the plugin response_cache, so every request "
                    "reaches its model");
    });
  }
}

}  // namespace signalbox::config
