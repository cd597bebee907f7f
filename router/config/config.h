#pragma once
// The whole configuration: plain structs with defaults, which config/load fills from a v0.3 file of
// the vLLM Semantic Router. load() reports keys of a file that have no effect. A file that needs
// only some sections includes their headers below instead.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "router/config/access.h"
#include "router/config/catalog.h"
#include "router/config/providers.h"
#include "router/config/routing.h"
#include "router/config/services.h"
#include "router/config/stores.h"

namespace signalbox::config {

struct Config {
  std::string source;  // the file it came from, for messages
  /// The lines of its keys below global.model_catalog, by their paths.
  std::map<std::string, uint32_t, std::less<>> catalog_lines;
  std::vector<Listener> listeners;
  Providers providers;
  Routing routing;
  std::vector<Recipe> recipes;
  std::vector<Entrypoint> entrypoints;
  std::string setup;  // JSON; for other tools
  std::vector<std::string> auto_model_names{"auto", "vllm-sr/auto", "MoM"};

  // global.access
  ClientAccess access;
  // global.spending; nullopt: nothing is counted beyond the metrics
  std::optional<Spending> spending;
  // global.api
  ClientApis apis;
  // global.router
  RouterSettings router;
  // global.services
  HttpLimits http;
  ExtProc ext_proc;
  Kubernetes kubernetes;
  ManagementApi management;
  ClassificationApi api;
  ResponseApi response_api;
  Observability observability;
  Audit audit;
  Authz authz;
  RateLimit ratelimit;
  StartupStatus startup_status;
  RouterReplay router_replay;
  // global.stores
  ResponseCacheStore response_cache;
  MemoryStore memory;
  VectorStore vector_store;
  ContextStore contexts;
  SharedCounts shared_counts;
  // global.integrations
  ToolsIntegration tools;
  Looper looper;
  // global.model_catalog
  EmbeddingModel embedding_model;
  SystemModels system_models;
  MissingModels missing_models = MissingModels::kStandIn;
  std::vector<ExternalModel> external_models;
  std::vector<KnowledgeBase> kbs;
  std::map<std::string, ModelDeployment> deployments;
  std::map<std::string, ModelBinding> bindings;  // by task, for all routings
  Modules modules;
};

/// True if models and routes come from Kubernetes.
bool follows_kubernetes(const Config& config);

/// The routing at the top of the file, then those of its recipes.
std::vector<const Routing*> routings_of(const Config& config);
/// The directory of the model that orders the documents of the routing; "": the file names none.
const std::string& reranker_of(const Config& config, const Routing& routing);
/// True if a decision searches memories by words, too.
bool finds_memories_by_words(const Config& config);

/// The module of a task that a server may do: `jailbreak`, `pii`, `domain`, `fact_check`,
/// `user_feedback` or `modality`. Null for another task.
const ClassifierModel* module_of(const Modules& modules, std::string_view task);
/// The model on a server that does the task: the one that the module names, or the only one with
/// the task's role. Null if the module calls no server.
const ExternalModel* server_of(const Config& config, std::string_view task);
/// The tasks that a server may do.
std::span<const std::string_view> tasks_of_servers();

/// The plugins of all decisions that send shadows.
std::vector<const ShadowDispatchPlugin*> shadows_of(const Config& config);
/// The servers of the plugins image_gen that are enabled.
std::vector<const Model*> image_servers_of(const Config& config);

}  // namespace signalbox::config
