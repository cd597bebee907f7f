// Lists all configured models, even those that are not loaded, because people come here to find
// what is missing.

#include "router/admin/info.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "engine/model_memory.h"
#include "engine/model_path.h"
#include "engine/tier.h"
#include "router/admin/health.h"

namespace signalbox::admin {
namespace {

using serving::ServingState;

constexpr std::string_view kTypes[] = {"domain",     "pii",           "jailbreak", "safety",
                                       "fact_check", "user_feedback", "modality",  "nli"};

std::string memory_used() {
  std::ifstream statm("/proc/self/statm");
  int64_t total = 0, resident = 0;
  statm >> total >> resident;
  return fmt::format("{} MB", resident * ::sysconf(_SC_PAGESIZE) / 1'000'000);
}

std::string_view dtype_name(config::ModelDtype dtype) {
  return dtype == config::ModelDtype::kI8     ? "int8"
         : dtype == config::ModelDtype::kBF16 ? "bf16"
                                              : "f32";
}

/// Returns the size of the weight files in a directory; 0 if there are none.
int64_t weights_bytes(const std::filesystem::path& directory) {
  int64_t sum = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() != ".safetensors") continue;
    const uintmax_t bytes = entry.file_size(error);
    if (!error) sum += static_cast<int64_t>(bytes);
  }
  return sum;
}

/// Writes the trunk that a path resolves to, and the size of all its files.
void write_weights(json::Writer& out, std::string_view path) {
  if (path.empty()) return;
  const auto found = engine::find_model(path);
  if (!found) return;
  int64_t bytes = weights_bytes(found->trunk) + weights_bytes(found->adapter);
  for (const std::filesystem::path& head : found->heads) bytes += weights_bytes(head);
  if (bytes == 0) return;
  out.member("trunk", found->trunk.lexically_normal().string()).member("weights_bytes", bytes);
}

/// Returns the value that a share of the observations does not exceed, assuming an even
/// distribution within a bucket.
double quantile(const observe::Histogram& histogram, double share) {
  const std::vector<uint64_t> counts = histogram.counts();
  uint64_t all = 0, below = 0;
  for (const uint64_t count : counts) all += count;
  const double rank = share * static_cast<double>(all);
  for (size_t i = 0; i < counts.size(); ++i) {
    const auto upto = static_cast<double>(below + counts[i]);
    if (counts[i] > 0 && upto >= rank) {
      const double low = i == 0 ? 0 : histogram.bounds()[i - 1];
      const double high = i < histogram.bounds().size() ? histogram.bounds()[i] : low;
      return low +
             (high - low) * (rank - static_cast<double>(below)) / static_cast<double>(counts[i]);
    }
    below += counts[i];
  }
  return 0;
}

void write_latency(json::Writer& out, const observe::Histogram& passes) {
  uint64_t all = 0;
  for (const uint64_t count : passes.counts()) all += count;
  out.key("latency").begin_object().member("passes", static_cast<int64_t>(all));
  out.member("mean_ms", all == 0 ? 0 : 1000 * passes.sum() / static_cast<double>(all));
  out.member("p50_ms", 1000 * quantile(passes, 0.5))
      .member("p95_ms", 1000 * quantile(passes, 0.95));
  out.end_object();
}

/// A configured model, and the model that is loaded for it.
struct ListedModel {
  std::string name;
  std::string_view type;
  std::string path;
  std::shared_ptr<const engine::TextEmbedder> model;  // null: not loaded
  const observe::Histogram* passes = nullptr;
  std::string_view same_as = {};  // another entry with the same model: heads of one directory
};

/// The head that answers for an entry: several entries may be heads of one model. Null: none.
const engine::HeadInfo* head_of(const engine::TextModel& model, const ListedModel& listed) {
  if (listed.type == "embedding") return nullptr;
  const auto heads = model.heads();
  const auto path = engine::find_model(listed.path);
  const auto kind = listed.type == "pii" ? engine::HeadKind::kTokens : engine::HeadKind::kSequence;
  if (const auto found = engine::find_head(model, path ? path->head : "", kind))
    return &heads[*found];
  return heads.size() == 1 ? &heads.front() : nullptr;
}

void write_loaded(json::Writer& out, const ListedModel& listed) {
  const engine::TextModel* model = listed.model ? listed.model->text_model() : nullptr;
  if (model == nullptr) return;
  if (const uint64_t bytes = engine::memory_bytes_of(*model); bytes != 0)
    out.member("memory_bytes", static_cast<int64_t>(bytes));
  if (!listed.same_as.empty()) out.member("same_as", listed.same_as);
  out.key("categories").begin_array();
  if (const engine::HeadInfo* head = head_of(*model, listed)) {
    for (const std::string& label : head->labels) out.string(label);
  }
  out.end_array().key("metadata").begin_object();
  out.member("hidden", fmt::format("{}", model->hidden()));
  out.member("layers", fmt::format("{}", model->layers()));
  out.member("tokens_max", fmt::format("{}", model->tokens_max())).end_object();
}

void write_model(json::Writer& out, const ListedModel& listed) {
  out.begin_object().member("name", listed.name).member("type", listed.type);
  out.member("loaded", listed.model != nullptr).member("model_path", listed.path);
  write_weights(out, listed.path);
  if (listed.passes != nullptr) write_latency(out, *listed.passes);
  write_loaded(out, listed);
  out.end_object();
}

std::vector<ListedModel> list_models(const serving::ServingState& state,
                                     observe::Metrics& metrics) {
  const models::Models& models = state.router->models();
  std::vector<ListedModel> all{
      {"embedding", "embedding", state.config().embedding_model.path, models.embedder}};
  for (const std::string_view type : kTypes) {
    const std::string directory = models::classifier_directory(state.config(), type);
    if (directory.empty()) continue;
    const auto found = models.classifiers.find(directory);
    all.push_back({fmt::format("{}_classifier", type), type, models.answering(directory),
                   found == models.classifiers.end() ? nullptr : found->second});
  }
  for (size_t i = 0; i < all.size(); ++i) {
    const void* model = all[i].model.get();
    if (model == nullptr) continue;
    const std::string_view name = state.observer->meters().engine_name(model);
    if (!name.empty()) all[i].passes = &metrics.passes.with({std::string(name)});
    for (size_t j = 0; j < i && all[i].same_as.empty(); ++j) {
      if (all[j].model == all[i].model) all[i].same_as = all[j].name;
    }
  }
  return all;
}

#if defined(__aarch64__)
constexpr std::string_view kArchitecture = "aarch64";
#else
constexpr std::string_view kArchitecture = "x86_64";
#endif

AdminReply models(const serving::ServingState& state, observe::Metrics& metrics) {
  json::Writer out;
  out.begin_object().key("models").begin_array();
  for (const ListedModel& each : list_models(state, metrics)) write_model(out, each);
  out.end_array().key("system").begin_object().member("version", SIGNALBOX_VERSION);
  out.member("tier", engine::kernel_tier());
  out.member("dtype", dtype_name(state.config().http.model_dtype));
  out.member("architecture", kArchitecture).member("os", "linux");
  out.member("memory_usage", memory_used());
  return {200, out.member("gpu_available", false).end_object().end_object().take()};
}

AdminReply classifier(const http::Request&, const serving::ServingState& state) {
  const config::Modules& modules = state.config().modules;
  const std::pair<std::string_view, const config::ClassifierModel*> all[] = {
      {"domain", &modules.classifier.domain},
      {"pii", &modules.classifier.pii},
      {"jailbreak", &modules.prompt_guard},
      {"safety", &modules.safety},
      {"fact_check", &modules.hallucination_mitigation.fact_check},
      {"user_feedback", &modules.feedback_detector},
  };
  json::Writer out;
  out.begin_object().member("status", "active").key("config").begin_object();
  for (const auto& [type, module] : all) {
    const std::string directory = models::classifier_directory(state.config(), type);
    out.key(type).begin_object().member("enabled", module->enabled && !directory.empty());
    out.member("model_path", directory);
    if (module->threshold > 0) out.member("threshold", module->threshold);
    out.end_object();
  }
  out.end_object().key("decisions").begin_array();
  for (const config::Decision& decision : state.config().routing.decisions)
    out.string(decision.name);
  out.end_array().key("notices").begin_array();
  for (const std::string& notice : state.notices) out.string(notice);
  return {200, out.end_array().end_object().take()};
}

http::Task<> send_startup(http::Exchange exchange, Readiness found) {
  json::Writer out;
  out.begin_object().member("phase", found.phase).member("ready", found.is_ready);
  out.member("message", found.message);
  const std::string body = out.end_object().take();
  http::Headers fields;
  fields.add("Content-Type", "application/json");
  co_await exchange.reply.send(found.is_ready ? 200 : 503, fields, body);
}

}  // namespace

std::vector<http::Route> info_routes(const serving::CurrentState& current,
                                     const std::atomic<Stage>& stage, http::ThreadPool& pool,
                                     observe::Metrics& metrics) {
  std::vector<http::Route> routes;
  routes.push_back(management_route("GET", "/info/models", access::kConfigRead, current, pool,
                                    [&metrics](const auto&, const serving::ServingState& state) {
                                      return models(state, metrics);
                                    }));
  routes.push_back(
      management_route("GET", "/info/classifier", access::kConfigRead, current, pool, classifier));
  routes.push_back({"GET", "/startup-status", [&current, &stage](http::Exchange exchange) {
                      return send_startup(exchange, readiness_of(current, stage));
                    }});
  return routes;
}

}  // namespace signalbox::admin
