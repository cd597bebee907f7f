#pragma once
// The sections that more than one source file uses, by the file that contains their tables.

#include <algorithm>
#include <functional>

#include "router/config/table.h"

namespace signalbox::config {

// root.cc
extern const Section kRoot;
/// Gives a notice for a store of answers that a v0.3 file, `node`, switches on although no decision
/// of it, `config`, has the plugin response_cache.
void check_answers(Reader& reader, const yaml::Node& node, const Config& config);

// providers.cc
extern const Section kProviders;
/// The server with this URL. Errors: those of parse_base_url().
Result<BackendRef> server_at(std::string_view base_url);

// known_providers.cc
/// A provider whose address a file need not give.
struct KnownProvider {
  std::string_view id, base_url;
  std::string_view chat_path;  // below base_url; "": the usual one
  /// The beginning of the catalogue's names of its own models; "": it has those of others.
  std::string_view publisher;
};
const KnownProvider* find_provider(std::string_view id);
/// Finds a provider by its address, with or without a slash at the end.
const KnownProvider* find_provider_at(std::string_view address);
/// The name at its servers of a model without `provider_model_id`: its own, or that of the model of
/// the Semantic Router's catalogue. Reports a name that is not known. The reader is at the model.
std::string name_in_catalog(Reader& reader, const yaml::Node& node, const Model& model);

extern const Section kModelReasoning;
extern const Section kReasoningFamily;
/// `reasoning` of newer files names a family or describes one. The reader is at the model.
void set_reasoning(Reader& reader, const yaml::Node& node, Model& out);

// endpoint.cc
/// Checks the values that become fields of a request's header, or a part of its first line. The
/// reader is at the backend.
void check_headers(Reader& reader, const yaml::Node& node, const BackendRef& ref);
void check_target(Reader& reader, const yaml::Node& node, const BackendRef& ref);
/// Reports two backends of a model that have one name. `backends` is their list in the file.
void check_backend_names(Reader& reader, const yaml::Node& backends, const Model& model);

// services.cc
extern const Section kClientApis;
extern const Section kServices;
extern const Section kSpending;

// access.cc
extern const Section kClientAccess;
extern const Section kAuthz;
extern const Section kRateLimit;

// stores.cc
extern const Section kStores;
extern const Section kMemoryReflection;

// store_servers.cc
extern const Section kRedis;
extern const Section kPostgres;
extern const Section kQdrant;
extern const Section kValkey;
extern const Section kMilvusAddress;
extern const Section kMilvus;
/// Refuses a server that routers could not share. The reader is at the section `node`.
void check_redis(Reader& reader, const yaml::Node& node, const Redis& redis);
/// Checks the section `postgres` of a store with this backend: the server, its table and the files
/// of its TLS. The reader is at the section `node`.
void check_postgres(Reader& reader, const yaml::Node& node, const Postgres& postgres);
/// The same for a store whose tables have the name with endings.
void check_postgres_tables(Reader& reader, const yaml::Node& node, const Postgres& postgres);
/// Checks that the server is there that the backend needs, if it is Redis or Valkey. The reader is
/// at the section `node`.
void check_servers(Reader& reader, const yaml::Node& node, const std::string& backend,
                   const Redis& redis, const Valkey& valkey);
/// Gives a notice about each of these servers that the backend does not use.
/// `is_of_semantic_router`: files of the Semantic Router have them.
void note_unused(Reader& reader, const yaml::Node& node,
                 std::initializer_list<std::string_view> servers, const std::string& backend,
                 bool is_of_semantic_router);
/// Checks the server of the memories, its collection, and the servers that are not used. The reader
/// is at the section `node`.
void check_memory_servers(Reader& reader, const yaml::Node& node, const MemoryStore& store);
/// A store that is in memory or, if routers share it, on a server: the key of its backend, the
/// backend, and what it keeps.
struct StoreKeys {
  std::string_view key;
  const std::string& backend;
  std::string_view records;
};
/// Valkey has Redis's protocol, so the names `valkey` and `redis` stand for one store.
void read_valkey_as_redis(Reader& reader, const yaml::Node& node, std::string& backend);
/// Checks the servers of a store. `postgres` is null if the store cannot be in PostgreSQL.
void check_store(Reader& reader, const yaml::Node& node, const StoreKeys& store, const Redis& redis,
                 const Postgres* postgres = nullptr);

// catalog.cc
extern const Section kCatalog;
extern const Section kPrototypeScoring;
extern const Section kIntegrations;
extern const Section kModules;  // modules.cc
extern const Section kModalityClassifier;
/// Makes the model at `path`, which the key names, the one that embeds texts, if it is installed.
/// Otherwise gives a notice with the command that fetches it, and the model stays; returns false.
bool use_embedder(Reader& reader, uint32_t line, const std::string& path, std::string_view key,
                  EmbeddingModel& model);
/// Refuses modules that are to call a server and have none, or that of another module.
void check_modules_on_servers(Reader& reader, const yaml::Node& root, const Config& config);
constexpr std::string_view kRunsOnProcessor = "the router runs its models on the processor";
constexpr std::string_view kScoreFromExamples = "How similarities become a score.";

// bindings.cc
extern const Section kDeployment;
extern const Section kBinding;
/// True if a binding names the model of the classifier signal.
bool is_bound(const Config& config, const Routing* routing, std::string_view classifier);
/// Gives each task the model that a binding names. Reports bindings that cannot be kept.
void apply_bindings(Reader& reader, Config& config);

// cascade.cc
extern const Section kConfidence;
extern const Section kAcceptance;
extern const Section kQuality;
extern const Section kStage;
/// Checks the stages and the models of a decision whose models answer questions of System One, and
/// that no other decision has such a model. The reader is at the decision.
void check_stages(Reader& reader, const yaml::Node& node, const Decision& decision);
/// Requires as many different models as the algorithm needs.
void check_minimum(Reader& reader, const yaml::Node& node, const Decision& decision);
/// Checks that such decisions are reached through an entrypoint of that API, and no others are.
void check_apis(Reader& reader, const yaml::Node& node, const Config& config);

// entrypoints.cc
extern const Section kEntrypoint;
/// Checks that each entrypoint leads to a recipe of the file, under a name that is not taken.
void check_entrypoints(Reader& reader, const yaml::Node& node, const Config& config);

// routing.cc
extern const Section kRouting;
extern const Section kRecipe;
extern const std::array<Choice, 3> kStrategies;
/// Sets reader.routing while a routing is read, so that conditions find its signals.
void read_routing(Reader& reader, const yaml::Node& node, Routing& out);
/// Checks that no recipe has the name of the routing at the top of the file, if there is one.
void check_recipes(Reader& reader, const yaml::Node& node, const Config& config);

// signals.cc
extern const Section kSignals;
/// Checks the label of a condition against the classes or options of its signal.
void check_label(Reader& reader, const yaml::Node& node, const Rule& rule);

// request_signals.cc
extern const Section kContext;
extern const Section kConversation;
extern const Section kEvent;
extern const Section kInputModality;
extern const Section kKeyword;
extern const Section kLanguage;
extern const Section kMetadata;
extern const Section kAgenticFact;
extern const Section kAgenticFacts;
extern const Section kPredicate;
extern const Section kRoleBinding;
extern const Section kStructure;
extern const Section kSession;
extern const Section kRandom;
extern const Section kQuestion;
template <class S>
constexpr Key signal_name() {
  return text(FIELD(S, name), "Name for conditions.").required();
}
template <class S>
constexpr Key signal_description() {
  return string(FIELD(S, description), "For people.");
}

/// Refuses an empty list under the key. The reader is at the mapping `node`.
void refuse_empty(Reader& reader, const yaml::Node& node, std::string_view key,
                  std::string_view what);
/// Reports a missing key that a value of `type` needs.
void need(Reader& reader, const yaml::Node& node, std::string_view what, std::string_view word,
          std::string_view key);

// decisions.cc
extern const Section kRule;
/// Refuses an input of a score on a signal that the routing does not have. The reader is at the
/// input.
void check_input_signal(Reader& reader, const yaml::Node& node, const ScoreInput& input);
/// Refuses members of a partition that are not signals. The reader is at the partition.
void check_members(Reader& reader, const yaml::Node& node, const Partition& partition);
extern const Section kDecision;

// algorithms.cc
constexpr std::string_view kOnErrorWords = "skip fail fallback";
extern const Section kLoopBudget;
extern const Section kAlgorithm;
extern const Section kRouter;

// plugins.cc
void read_plugins(Reader& reader, const yaml::Node& node, Decision& out);

// router/plugins/*/keys.cc
extern const Section kContextCompression;
extern const Section kFastResponse;
extern const Section kHallucination;
extern const Section kHeaderMutation;
extern const Section kImageGen;
extern const Section kMemoryPlugin;
extern const Section kModalityDetection;
extern const Section kPiiMask;
extern const Section kPromptCache;
extern const Section kRag;
extern const Section kRequestParams;
extern const Section kResponseCache;
extern const Section kResponseJailbreak;
extern const Section kRouterReplayPlugin;
constexpr std::string_view kNoTraces = "records contain tool calls only as part of the bodies";
bool captures_texts(const RouterReplayPlugin& plugin);
/// Gives a notice that the key at the path keeps the texts that a plugin captures out of records.
void note_lost_texts(Reader& reader, std::string_view path, uint32_t line);
extern const Section kShadowDispatch;
extern const Section kSystemPrompt;
extern const Section kToolFiltering;
extern const Section kToolSelection;
extern const Section kTools;
/// Gives a notice for each type in the list at the node that neither rules nor our models find.
void note_unknown_pii_types(Reader& reader, const yaml::Node& node,
                            std::vector<std::string>& types);
/// Reports a condition on a signal that is not one of `names`, or that cannot be evaluated.
void check_signal_name(Reader& reader, uint32_t line, std::string_view type, std::string_view name,
                       const std::vector<std::string>& names);
/// The plugins, by the `type` in the file.
inline constexpr Variant kPluginForms[] = {
    {"system_prompt", object(FIELD(Plugins, system_prompt), kSystemPrompt, "")},
    {"fast_response", object(FIELD(Plugins, fast_response), kFastResponse, "")},
    {"response_cache response-cache semantic_cache semantic-cache",
     object(FIELD(Plugins, response_cache), kResponseCache, "")},
    {"context_compression", object(FIELD(Plugins, context_compression), kContextCompression, "")},
    {"tools", object(FIELD(Plugins, tools), kTools, "")},
    {"tool_selection", object(FIELD(Plugins, tool_selection), kToolSelection, "")},
    {"hallucination", object(FIELD(Plugins, hallucination), kHallucination, "")},
    {"response_jailbreak", object(FIELD(Plugins, response_jailbreak), kResponseJailbreak, "")},
    {"header_mutation", object(FIELD(Plugins, header_mutation), kHeaderMutation, "")},
    {"prompt_cache", object(FIELD(Plugins, prompt_cache), kPromptCache, "")},
    {"router_replay", object(FIELD(Plugins, router_replay), kRouterReplayPlugin, "")},
    {"shadow_dispatch", object(FIELD(Plugins, shadow_dispatch), kShadowDispatch, "")},
    {"memory", object(FIELD(Plugins, memory), kMemoryPlugin, "")},
    {"rag", object(FIELD(Plugins, rag), kRag, "")},
    {"image_gen", object(FIELD(Plugins, image_gen), kImageGen, "")},
    {"request_params", object(FIELD(Plugins, request_params), kRequestParams, "")},
    {"pii_mask masking", object(FIELD(Plugins, pii_mask), kPiiMask, "")},
};
/// The part of the plugin that is not built; "" if there is none.
std::string unbuilt_part(const RagPlugin& plugin);
/// True if one of the backends that the plugin searches is of this kind.
bool searches(const RagPlugin& plugin, std::string_view kind);

/// Refuses an element of the list at the node if one before it has the same name, which
/// `kName(element)` returns.
template <auto kName, class T>
void refuse_twice(Reader& reader, const yaml::Node& node, std::vector<T>& all) {
  for (size_t i = 0; i < node.items.size() && i < all.size(); ++i) {
    const std::string name = std::invoke(kName, all[i]);
    const auto is_same = [&](const T& each) { return std::invoke(kName, each) == name; };
    if (name.empty() ||
        std::find_if(all.begin(), all.end(), is_same) == all.begin() + static_cast<ptrdiff_t>(i))
      continue;
    reader.at_index(
        i, [&] { reader.error(node.items[i].line, fmt::format("\"{}\" is there twice", name)); });
  }
}

/// A certificate needs its key, and a key its certificate.
template <class Listening>
void check_tls_pair(Reader& reader, const yaml::Node& node, Listening& listening) {
  if (listening.tls_cert_path.empty() == listening.tls_key_path.empty()) return;
  reader.error(node.line, "expected tls_cert_path and tls_key_path, found only one of them");
}

}  // namespace signalbox::config
