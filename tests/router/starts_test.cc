// A file that `signalbox config check` accepts must start: check compiles it without models, the
// daemon with them.

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "base/yaml.h"
#include "base/yaml_tree.h"
#include "base/yaml_writer.h"
#include "router/config/load.h"
#include "router/replies/reply_guards.h"
#include "router/routing/router.h"
#include "tests/router/fake_classifier.h"
#include "tests/router/fake_embedder.h"

namespace signalbox::routing {
namespace {

namespace fs = std::filesystem;
namespace tree = yaml::tree;

const fs::path kFiles = fs::path(SIGNALBOX_SOURCE_DIR) / "../shared/conformance";

// Compiles the file as the daemon does. Returns the error, or "".
std::string compile(const config::Config& config, models::Models models) {
  auto router = Router::create(config, std::move(models));
  if (!router) return router.error().message;
  auto guards = replies::ReplyGuards::create((*router)->config(), (*router)->models());
  return guards ? "" : guards.error().message;
}

models::Models with_embedder() {
  models::Models out;
  out.embedder = std::make_shared<const test::FakeEmbedder>();
  return out;
}

// --- files of the Semantic Router ---

std::vector<fs::path> yaml_files() {
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(kFiles)) {
    const fs::path& path = entry.path();
    if (path.extension() == ".yaml" && path.filename() != "probes.yaml") out.push_back(path);
  }
  std::sort(out.begin(), out.end());
  return out;
}

// A fragment becomes a whole file: the reference with the fragment in place of its own part.
yaml::Node whole_file(const fs::path& path, const yaml::Node& reference) {
  yaml::Node root = *yaml::load(path);
  if (root.find("version") != nullptr) return root;
  yaml::Node out = reference;
  if (root.find("algorithm") == nullptr && root.find("plugin") == nullptr) {
    for (yaml::Entry& entry : root.entries) tree::put(out, entry.key, entry.value);
    return out;
  }
  yaml::Node decision = tree::mapping(1);
  tree::add(decision, "name", tree::text("the fragment", 1));
  tree::copy(root, "algorithm", decision);
  if (const yaml::Node* plugin = root.find("plugin")) {
    yaml::Node plugins = tree::sequence(1);
    plugins.items.push_back(*plugin);
    tree::add(decision, "plugins", std::move(plugins));
  }
  yaml::Node& decisions = tree::at_path(out, "routing.decisions", 1);
  decisions.items.push_back(std::move(decision));
  return out;
}

TEST(Starts, a_router_starts_from_every_file_of_upstream) {
  if (!fs::exists(kFiles)) GTEST_SKIP() << kFiles << " does not exist";
  const yaml::Node reference = *yaml::load(kFiles / "reference-config.yaml");
  size_t files = 0;
  for (const fs::path& path : yaml_files()) {
    const auto loaded =
        config::parse(yaml::write(whole_file(path, reference)), (kFiles / "x.yaml").string());
    ASSERT_TRUE(loaded) << path << ": " << loaded.error().message;
    EXPECT_EQ(compile(loaded->config, {}), "") << path;
    EXPECT_EQ(compile(loaded->config, with_embedder()), "") << path;
    ++files;
  }
  EXPECT_GT(files, 30U);
}

// --- random files ---

class Writer {
 public:
  explicit Writer(uint32_t seed) : random_(seed) {}

  std::string file() {
    std::string signals, decisions;
    for (const auto& [key, forms] : kSignals) {
      if (one_of(16) == 0) continue;
      signals += fmt::format("    {}:\n", key);
      signals += fmt::format("      - {}\n", forms[one_of(8) == 0 ? one_of(forms.size()) : 0]);
    }
    for (size_t d = 0; d < 3; ++d)
      decisions += fmt::format(
          "    - {{name: d{}, rules: {}, modelRefs: [{{model: m}}{}]{}, plugins: [{}]}}\n", d,
          rule(2), one_of(2) == 0 ? ", {model: n}" : "", pick(kAlgorithms), pick(kPlugins));
    return fmt::format(
        "version: v0.3\nproviders:\n  defaults: {{default_model: m}}\n  models:\n"
        "    - {{name: m, backend_refs: [{{type: echo}}]}}\n"
        "    - {{name: n, backend_refs: [{{type: echo}}]}}\n"
        "routing:\n  signals:\n{}  projections: {}\n  decisions:\n{}"
        "global:\n  stores: {}\n  integrations: {}\n",
        signals.empty() ? "    keywords: []\n" : signals, pick(kProjections), decisions,
        pick(kStores), pick(kIntegrations));
  }

 private:
  size_t one_of(size_t count) { return random_() % count; }
  template <class List>
  const std::string& pick(const List& list) {
    return list[one_of(list.size())];
  }
  std::string rule(int depth) {
    if (depth == 0 || one_of(3) == 0) return fmt::format("{{{}}}", pick(kConditions));
    const size_t op = one_of(3);
    std::string conditions = rule(depth - 1);
    if (op < 2) conditions += ", " + rule(depth - 1);
    return fmt::format("{{operator: {}, conditions: [{}]}}",
                       op == 0   ? "AND"
                       : op == 1 ? "OR"
                                 : "NOT",
                       conditions);
  }

  using Strings = std::vector<std::string>;
  inline static const std::vector<std::pair<std::string, Strings>> kSignals{
      {"keywords",
       {"{name: s, keywords: [a]}", "{name: s, patterns: ['a(b']}",
        "{name: s, method: bm25, keywords: [a, b]}", "{name: s, method: regex, keywords: ['a.b']}",
        "{name: s, method: regex, keywords: ['c++ (']}", "{name: s}"}},
      {"embeddings",
       {"{name: s, threshold: 0.5, candidates: [a]}",
        "{name: s, threshold: 0.5, candidates: [a], aggregation_method: mean}",
        "{name: s, threshold: 1.5, candidates: [a], negative_candidates: [b, c]}",
        "{name: s, threshold: 1.5, candidates: [a]}",
        "{name: s, candidates: [a], prototype_scoring: {enabled: false}}"}},
      {"input_modality", {"{name: s, modality: image}", "{name: s, modality: smell}"}},
      {"actions", {"{name: fix}", "{name: s}"}},
      {"agentic_facts",
       {"{name: s, field: task_phase, predicate: {in: [plan, review]}}",
        "{name: s, field: mood, predicate: {equals: good}}"}},
      {"structure",
       {"{name: s, feature: {type: count, source: {type: keyword_set, keywords: [a]}}}",
        "{name: s, feature: {type: exists, source: {type: regex, pattern: '(?=a)'}}}",
        "{name: s, feature: {type: sequence, source: {type: sequence, sequences: [[a, b]]}}}",
        "{name: s, feature: {type: density, source: {type: regex, pattern: '[?]'}}}"}},
      {"conversation",
       {"{name: s, feature: {type: exists, source: {type: assistant_tool_cycle}}}",
        "{name: s, feature: {type: exists, source: {type: mood}}}",
        "{name: s, feature: {type: count, source: {type: message, role: user}}}"}},
      {"kb",
       {"{name: s, kb: privacy_kb, target: {kind: group, value: private}}",
        "{name: s, kb: none, target: {kind: label, value: x}, match: threshold}"}},
      {"fact_check", {"{name: needs_fact_check}", "{name: s}"}},
      {"domains", {"{name: math}", "{name: s, mmlu_categories: [law, history]}"}},
      {"language", {"{name: s}", "{name: en, threshold: 0.5}"}},
      {"reasks", {"{name: s, lookback_turns: 2}"}},
      {"preferences", {"{name: s, examples: [a, b]}", "{name: s}"}},
      {"jailbreak", {"{name: s}", "{name: s, method: contrastive, jailbreak_patterns: [a]}"}},
      {"events", {"{name: s, severities: [high]}"}},
      {"complexity",
       {"{name: s, hard: {candidates: [a]}, easy: {candidates: [b]}}",
        "{name: s, hard_above: 0.2, easy_below: 0.1, hard: {candidates: [a]}}",
        "{name: s, hard_above: 0.2, hard: {candidates: [a]}}",
        "{name: s, composer: {operator: AND, conditions: [{type: projection, name: o}]}}",
        "{name: s, composer: {type: keyword, name: s}}"}},
  };
  inline static const Strings kConditions{
      "type: keyword, name: s",           "type: embedding, name: s",
      "type: input_modality, name: s",    "type: structure, name: s",
      "type: conversation, name: s",      "type: kb, name: s",
      "type: domain, name: math",         "type: fact_check, name: needs_fact_check",
      "type: language, name: s",          "type: reask, name: s",
      "type: complexity, name: 's:hard'", "type: projection, name: o",
      "type: jailbreak, name: s",         "type: action, name: fix",
      "type: agentic_facts, name: s"};
  inline static const Strings kProjections{
      "{}",
      "{scores: [{name: a, inputs: [{type: keyword, name: s}]}], mappings: [{name: m, source: a, "
      "outputs: [{name: o, gte: 0.5}]}]}",
      "{scores: [{name: a, inputs: [{type: projection, name: b}]}, {name: b, inputs: [{type: "
      "projection, name: a}]}], mappings: [{name: m, source: a, outputs: [{name: o, gte: 0}]}]}",
      "{scores: [{name: a, inputs: [{type: kb_metric, kb: mmlu_kb, metric: escalate_vs_keep}]}], "
      "mappings: [{name: m, source: a, outputs: [{name: o, lt: 0}]}]}",
      "{partitions: [{name: p, members: [s, math], default: s}]}"};
  inline static const Strings kAlgorithms{
      "",
      ", algorithm: {type: static}",
      ", algorithm: {type: router_dc}",
      ", algorithm: {type: fusion}",
      ", algorithm: {type: knn}",
      ", algorithm: {type: automix}",
      ", algorithm: {type: multi_factor}",
      ", algorithm: {type: confidence}",
      ", algorithm: {type: confidence, confidence: {confidence_method: self_verify, threshold: 2}}",
      ", algorithm: {type: ratings, ratings: {max_concurrent: 2}}",
      ", algorithm: {type: remom, remom: {breadth_schedule: [2]}}",
      ", algorithm: {type: remom, remom: {breadth_schedule: []}}",
      ", algorithm: {type: workflows, workflows: {mode: dynamic, planner: {model: m}}}",
      ", algorithm: {type: workflows, workflows: {mode: static, roles: [{name: a, models: [m]}]}}",
      ", algorithm: {type: workflows, workflows: {mode: static, roles: [{name: a, models: [x]}]}}",
      ", algorithm: {type: prompt, prompt: {model: m, instructions: Choose.}}",
      ", algorithm: {type: kmeans}",
      ", algorithm: {type: kmeans, kmeans: {pretrained_path: /gone}}",
      ", algorithm: {type: hybrid}"};
  inline static const Strings kPlugins{
      "",
      "{type: fast_response, configuration: {message: no}}",
      "{type: system_prompt, configuration: {system_prompt: Be brief.}}",
      "{type: response_cache, configuration: {enabled: true, similarity_threshold: 0.9}}",
      "{type: pii_mask, configuration: {enabled: true, types: [EMAIL]}}",
      "{type: pii_mask, configuration: {enabled: true, types: [NO_SUCH_TYPE]}}",
      "{type: response_jailbreak, configuration: {enabled: true, action: block}}",
      "{type: hallucination, configuration: {enabled: true, use_nli: true}}",
      "{type: memory, configuration: {enabled: true}}",
      "{type: rag, configuration: {enabled: true, backend: external_api, backend_config: "
      "{endpoint: 'http://127.0.0.1:9'}}}",
      "{type: rag, configuration: {enabled: true, backend: milvus, backend_config: {collection: "
      "c}}}",
      "{type: tool_selection, configuration: {enabled: true, mode: filter}}",
      "{type: shadow_dispatch, configuration: {enabled: true, model: n, sample_rate: 1}}",
      "{type: header_mutation, configuration: {add: [{name: a, value: b}]}}",
      "{type: request_params, configuration: {blocked_params: [user]}}",
      "{type: image_gen, configuration: {enabled: true}}"};
  inline static const Strings kStores{
      "{}", "{response_cache: {enabled: true}}", "{memory: {enabled: true, auto_store: true}}",
      "{vector_store: {enabled: true, backend_type: memory, file_storage_dir: files}}",
      "{memory: {enabled: true, backend: redis}}"};
  inline static const Strings kIntegrations{
      "{}", "{tools: {enabled: true, tools_db_path: /gone}}",
      "{looper: {flow: {model_names: [flow]}, fusion: {model_names: [fuse]}}}"};

  std::mt19937 random_;
};

TEST(Starts, a_router_starts_from_every_file_that_check_accepts) {
  size_t accepted = 0, refused = 0;
  for (uint32_t seed = 0; seed < 500; ++seed) {
    const std::string text = Writer(seed).file();
    const auto loaded = config::parse(text, "random.yaml");
    if (!loaded || !compile(loaded->config, {}).empty()) {
      ++refused;
      continue;
    }
    ++accepted;
    ASSERT_EQ(compile(loaded->config, with_embedder()), "") << text;
  }
  EXPECT_GT(accepted, 10U);
  EXPECT_GT(refused, 40U);
}

}  // namespace
}  // namespace signalbox::routing
