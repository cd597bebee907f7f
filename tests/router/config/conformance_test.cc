// Files that other routers' users have: each loads, and every key in it is in the printed schema.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
#include "base/yaml.h"
#include "base/yaml_tree.h"
#include "base/yaml_writer.h"
#include "router/config/load.h"

namespace signalbox::config {
namespace {

namespace fs = std::filesystem;
namespace tree = yaml::tree;

const fs::path kFiles = fs::path(SIGNALBOX_SOURCE_DIR) / "../shared/conformance";

#define SKIP_WITHOUT_FILES() \
  if (!fs::exists(kFiles)) GTEST_SKIP() << "no material beside the repository"

std::vector<fs::path> fragments(std::string_view kind) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(kFiles / "fragments" / kind)) {
    if (entry.path().extension() == ".yaml") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  EXPECT_FALSE(found.empty()) << kind;
  return found;
}

yaml::Node tree_of(const fs::path& path) {
  auto tree = yaml::load(path);
  EXPECT_TRUE(tree) << tree.error().message;
  return tree ? *std::move(tree) : yaml::Node{};
}

// The smallest file with the models that the fragments name, and with signals of its own.
yaml::Node host() {
  yaml::Node root = *yaml::parse(R"(version: v0.3
providers:
  defaults: {default_model: qwen3-8b}
  models:
    - {name: qwen3-8b, backend_refs: [{type: echo}]}
    - {name: qwen3-32b, backend_refs: [{type: echo}]}
    - {name: "qwen2.5:3b", backend_refs: [{type: echo}]}
)",
                                 "host");
  return root;
}

std::string errors_of(const yaml::Node& root) {
  const auto loaded = parse(yaml::write(root), "f.yaml", {.strict = true});
  return loaded ? "" : loaded.error().message;
}

TEST(Conformance, every_recipe_and_the_reference_load_without_an_unknown_key) {
  SKIP_WITHOUT_FILES();
  for (const char* name : {"reference-config.yaml", "accuracy/config.yaml", "balance/config.yaml",
                           "privacy/config.yaml"}) {
    const auto loaded = load(kFiles / name, {.strict = true});
    EXPECT_TRUE(loaded) << loaded.error().message;
  }
}

TEST(Conformance, signal_fragments_load_where_they_belong) {
  SKIP_WITHOUT_FILES();
  for (const fs::path& path : fragments("signal")) {
    yaml::Node root = host();
    for (yaml::Entry& entry : tree_of(path).entries) tree::put(root, entry.key, entry.value);
    EXPECT_EQ(errors_of(root), "") << path;
  }
}

TEST(Conformance, decision_fragments_load_beside_the_signals_that_they_need) {
  SKIP_WITHOUT_FILES();
  const yaml::Node reference = tree_of(kFiles / "reference-config.yaml");
  for (const fs::path& path : fragments("decision")) {
    yaml::Node root = host();
    for (yaml::Entry& entry : tree_of(path).entries) tree::put(root, entry.key, entry.value);
    tree::put(root, "routing.signals", *reference.find("routing")->find("signals"));
    EXPECT_EQ(errors_of(root), "") << path;
  }
}

TEST(Conformance, algorithm_and_plugin_fragments_load_in_a_decision) {
  SKIP_WITHOUT_FILES();
  for (const char* kind : {"algorithm", "plugin"}) {
    for (const fs::path& path : fragments(kind)) {
      yaml::Node decision = tree::mapping(1);
      tree::add(decision, "name", tree::text("x", 1));
      const yaml::Node fragment = tree_of(path);
      if (const yaml::Node* algorithm = fragment.find("algorithm"))
        tree::add(decision, "algorithm", *algorithm);
      if (const yaml::Node* plugin = fragment.find("plugin")) {
        yaml::Node plugins = tree::sequence(1);
        plugins.items.push_back(*plugin);
        tree::add(decision, "plugins", std::move(plugins));
      }
      EXPECT_EQ(decision.entries.size(), 2u) << path;
      yaml::Node decisions = tree::sequence(1);
      decisions.items.push_back(std::move(decision));
      yaml::Node root = host();
      tree::put(root, "routing.decisions", std::move(decisions));
      EXPECT_EQ(errors_of(root), "") << path;
    }
  }
}

TEST(Conformance, the_values_of_the_reference_are_read) {
  SKIP_WITHOUT_FILES();
  const auto loaded = load(kFiles / "reference-config.yaml");
  ASSERT_TRUE(loaded) << loaded.error().message;
  const Config& config = loaded->config;
  EXPECT_EQ(config.providers.models[0].pricing->cache_write_per_1m, 0.225);
  EXPECT_EQ(config.providers.models[0].reliability->retry_count, 2u);
  EXPECT_EQ(config.providers.models[0].backend_refs[1].extra_headers.at("X-Tenant"),
            "reference-config");
  EXPECT_EQ(config.providers.models[1].api_format, Model::ApiFormat::kAnthropic);
  const Routing& routing = config.routing;
  EXPECT_EQ(routing.model_cards[1].loras[0].name, "computer-science-expert");
  EXPECT_EQ(routing.keywords[3].fuzzy_threshold, 82);
  EXPECT_EQ(routing.context[0].min_tokens, 32'000);
  EXPECT_EQ(routing.context[0].max_tokens, 256'000);
  EXPECT_EQ(routing.structure[3].feature.source.sequences[1],
            (std::vector<std::string>{"first", "next", "finally"}));
  EXPECT_EQ(routing.structure[4].predicate->gt, 0.08);
  EXPECT_EQ(routing.complexity[0].composer->conditions[1].name, "computer science");
  EXPECT_EQ(routing.kb[0].target.kind, KbSignal::Target::Kind::kGroup);
  EXPECT_EQ(routing.conversation[4].predicate->lte, 99);
  EXPECT_EQ(routing.classifiers[1].model, "external-classifier");
  EXPECT_EQ(routing.projections.mappings[0].outputs[1].range.gt, 0.2);
  EXPECT_EQ(routing.projections.scores[1].inputs[0].metric, "private_vs_public");
  EXPECT_EQ(routing.decisions[0].tier, 2);
  EXPECT_EQ(routing.decisions[0].response_cache->ttl_seconds, 7200u);
  EXPECT_EQ(routing.decisions[3].algorithm.remom->breadth_schedule, (std::vector<double>{3, 2}));
  EXPECT_EQ(routing.decisions[6].fast_response->message.substr(0, 11), "The primary");
  EXPECT_EQ(config.recipes[0].routing.strategy, Routing::Strategy::kConfidence);
  EXPECT_EQ(config.entrypoints[1].recipe, "privacy-first");
  EXPECT_EQ(config.router.model_selection.ml.svm.gamma, 0.12);
  EXPECT_EQ(config.ratelimit.providers[1].rules[0].tokens_per_unit, 300'000u);
  EXPECT_EQ(config.response_cache.milvus.collection.index.params.ef_construction, 200u);
  EXPECT_EQ(config.kbs[0].label_thresholds.at("prompt_injection"), 0.7);
  EXPECT_EQ(config.modules.prompt_guard.positive_labels, (std::vector<std::string>{"jailbreak"}));
  const auto mcp = std::find_if(routing.decisions.begin(), routing.decisions.end(),
                                [](const Decision& d) { return d.rag && d.rag->backend == "mcp"; });
  ASSERT_NE(mcp, routing.decisions.end());
  EXPECT_EQ(mcp->rag->backend_config.tool_arguments,
            R"({"query":"${user_content}","top_k":"${top_k}"})");
}

// --- what has no effect ---

// The last names of the keys that the page names in code spans: "...classifier.mcp" is "mcp".
std::set<std::string> keys_named_in(std::string_view page) {
  std::set<std::string> out;
  bool is_code = false;
  for (size_t begin = 0; begin < page.size();) {
    const size_t end = std::min(page.find('`', begin), page.size());
    const std::string_view span = page.substr(begin, end - begin);
    if (is_code) out.emplace(span.substr(span.rfind('.') + 1));
    is_code = !is_code;
    begin = end + 1;
  }
  return out;
}

/// Calls `visit` with each key of the reference that has no effect, and with its line.
void each_key_without_effect(
    const std::function<void(const std::string&, std::string_view)>& visit) {
  const std::string all = reference();
  for (size_t begin = 0; begin < all.size();) {
    const size_t end = std::min(all.find('\n', begin), all.size());
    const std::string_view line = std::string_view(all).substr(begin, end - begin);
    begin = end + 1;
    if (!line.starts_with("| `") || line.find("no effect: ") == std::string_view::npos) continue;
    visit(std::string(line.substr(3, line.find('`', 3) - 3)), line);
  }
}

TEST(Upstream, the_page_has_every_key_without_an_effect) {
  const auto page = read_file(SIGNALBOX_SOURCE_DIR "/docs/upstream.md", kFileBytesMax);
  ASSERT_TRUE(page) << page.error().message;
  const std::set<std::string> named = keys_named_in(*page);
  size_t keys = 0;
  each_key_without_effect([&](const std::string& key, std::string_view line) {
    EXPECT_TRUE(named.contains(key)) << "docs/upstream.md: no row for " << line;
    ++keys;
  });
  EXPECT_GT(keys, 60u);
}

TEST(Upstream, the_settings_that_exist_only_there_have_no_effect) {
  const auto page = read_file(SIGNALBOX_SOURCE_DIR "/docs/upstream.md", kFileBytesMax);
  ASSERT_TRUE(page) << page.error().message;
  std::set<std::string> without_effect;
  each_key_without_effect(
      [&](const std::string& key, std::string_view) { without_effect.insert(key); });
  const size_t heading = page->find("## Settings of parts that exist only there");
  ASSERT_NE(heading, std::string::npos);
  std::istringstream lines(page->substr(heading, page->find("\n## ", heading + 1) - heading));
  size_t rows = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `")) continue;
    const std::set<std::string> named = keys_named_in(line.substr(0, line.find(" | ")));
    EXPECT_TRUE(std::any_of(named.begin(), named.end(),
                            [&](const std::string& key) { return without_effect.contains(key); }))
        << "docs/upstream.md: each key has an effect in the row " << line;
    ++rows;
  }
  EXPECT_GT(rows, 10u);
}

TEST(Upstream, every_notice_about_its_files_leads_to_the_page_or_names_the_remedy) {
  SKIP_WITHOUT_FILES();
  for (const char* name : {"reference-config.yaml", "accuracy/config.yaml", "balance/config.yaml",
                           "privacy/config.yaml"}) {
    const auto loaded = load(kFiles / name);
    ASSERT_TRUE(loaded) << loaded.error().message;
    for (const std::string& notice : loaded->notices) {
      EXPECT_EQ(notice.find("not built"), std::string::npos) << notice;
      EXPECT_TRUE(notice.find("docs/upstream.md") != std::string::npos ||
                  notice.find("reasoning_family") != std::string::npos ||
                  notice.find("there is no model at") != std::string::npos ||
                  notice.find(" is not set") != std::string::npos)
          << notice;
    }
  }
}

TEST(Upstream, keys_of_image_gen_without_an_effect_give_a_notice) {
  const auto loaded = parse(R"(version: v0.3
providers: {models: [{name: m, backend_refs: [{type: echo}]}], defaults: {default_model: m}}
routing:
  decisions:
    - name: a
      plugins: [{type: image_gen, configuration: {backend: openai, backend_config: {api_key: k, quality: hd, style: vivid},
                 modality_detection: {prompt_prefixes: [draw]}}}]
    - name: b
      plugins: [{type: image_gen, configuration: {backend: openai, backend_config: {api_key: k, seed: 1}, max_inference_steps: 2,
                 modality_detection: {prompt_prefixes: [draw], keywords: [paint], method: keyword}}}]
    - name: c
      plugins: [{type: image_gen, configuration: {backend: vllm_omni, backend_config: {base_url: 'http://h', style: vivid, seed: 1}}}]
)",
                            "f.yaml");
  ASSERT_TRUE(loaded) << loaded.error().message;
  const std::string at = "routing.decisions[1].plugins[0].configuration.";
  const std::string idle = ": has no effect: it is for the other backend (docs/upstream.md)";
  EXPECT_EQ(
      loaded->notices,
      (std::vector<std::string>{
          "f.yaml:9: " + at + "backend_config.seed" + idle,
          "f.yaml:9: " + at + "max_inference_steps" + idle,
          "f.yaml:10: " + at +
              "modality_detection: only prompt_prefixes has an effect: the decision's "
              "conditions select the requests (docs/upstream.md)",
          "f.yaml:12: routing.decisions[2].plugins[0].configuration.backend_config.style" + idle}));
}

// --- the schema ---

// Checks a tree against a JSON Schema, as far as our schema uses the standard.
class Validator {
 public:
  explicit Validator(const json::Document& document) : root_(document.root()) {}

  /// Paths of keys that no table has, and of definitions that are referred to and missing.
  std::set<std::string> problems;

  void check(const yaml::Node& node, json::Value schema, const std::string& path) {
    if (const auto reference = schema.find("$ref")) {
      const std::string_view name = reference->text().substr(std::string_view("#/$defs/").size());
      const auto target = root_.find("$defs")->find(name);
      if (!target) {
        problems.insert(fmt::format("{}: no definition {}", path, name));
        return;
      }
      check(node, *target, path);
    }
    if (const auto items = schema.find("items")) {
      for (const yaml::Node& item : node.items) check(item, *items, path + "[]");
    }
    if (const auto all = schema.find("allOf")) check_conditions(node, *all, path);
    const auto properties = schema.find("properties");
    const auto more = schema.find("additionalProperties");
    for (const yaml::Entry& entry : node.entries) {
      const std::string below = path + "." + entry.key;
      const auto property = properties ? properties->find(entry.key) : std::nullopt;
      if (property) check(entry.value, *property, below);
      if (!property && more && more->is_object()) check(entry.value, *more, below);
      if (!property && more && more->is_bool()) problems.insert(below);
    }
  }

 private:
  // "if the type is one of these, then".
  void check_conditions(const yaml::Node& node, json::Value all, const std::string& path) {
    const yaml::Node* type = node.find("type");
    for (const json::Value each : all.items()) {
      const json::Value names = *each.find("if")->find("properties")->find("type")->find("enum");
      for (const json::Value name : names.items()) {
        if (type != nullptr && name.text() == type->scalar) check(node, *each.find("then"), path);
      }
    }
  }

  json::Value root_;
};

TEST(Schema, has_every_key_of_the_files) {
  SKIP_WITHOUT_FILES();
  const auto document = json::Document::parse(schema());
  ASSERT_TRUE(document) << document.error().message;
  Validator validator(*document);
  for (const char* name : {"reference-config.yaml", "accuracy/config.yaml", "balance/config.yaml",
                           "privacy/config.yaml"}) {
    validator.check(tree_of(kFiles / name), document->root(), name);
  }
  EXPECT_EQ(validator.problems, std::set<std::string>{});
}

TEST(Schema, names_a_key_that_no_table_has) {
  const auto document = json::Document::parse(schema());
  ASSERT_TRUE(document) << document.error().message;
  const auto tree = yaml::parse(
      "routing: {decisions: [{name: x, plugins: [{type: rag, configuration: {zebra: 1}}]}]}\n"
      "global: {stores: {semantic_cache: {zebra: 1}}}\n",
      "f.yaml");
  ASSERT_TRUE(tree);
  Validator validator(*document);
  validator.check(*tree, document->root(), "");
  EXPECT_EQ(validator.problems,
            (std::set<std::string>{".routing.decisions[].plugins[].configuration.zebra",
                                   ".global.stores.semantic_cache.zebra"}));
}

// Every reference leads to a definition, every definition is an object that describes itself.
void check_well_formed(json::Value value, json::Value definitions, size_t& references) {
  if (const auto reference = value.find("$ref")) {
    ASSERT_TRUE(reference->is_string());
    ASSERT_TRUE(reference->text().starts_with("#/$defs/"));
    ASSERT_TRUE(definitions.find(reference->text().substr(8))) << reference->text();
    ++references;
  }
  for (const json::Value item : value.items()) check_well_formed(item, definitions, references);
  for (const json::Member member : value.members()) {
    ASSERT_EQ(value.count(member.key), 1u) << member.key;
    check_well_formed(member.value, definitions, references);
  }
}

TEST(Schema, is_well_formed) {
  const auto document = json::Document::parse(schema());
  ASSERT_TRUE(document) << document.error().message;
  const json::Value root = document->root();
  EXPECT_EQ(root.find("$schema")->text(), "https://json-schema.org/draft/2020-12/schema");
  size_t references = 0;
  check_well_formed(root, *root.find("$defs"), references);
  EXPECT_GT(references, 200u);
  for (const json::Member definition : root.find("$defs")->members()) {
    EXPECT_TRUE(definition.value.find("type")) << definition.key;
  }
}

// The page is committed, so that readers find it without a program; this keeps it true.
TEST(Reference, docs_have_the_page_that_the_program_prints) {
  const std::string path = SIGNALBOX_SOURCE_DIR "/docs/configuration.md";
  const auto page = read_file(path, kFileBytesMax);
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_TRUE(*page == reference()) << "write it anew: signalbox config reference > " << path;
}

}  // namespace
}  // namespace signalbox::config
