// Tests configurations that name missing models. A guard without its model must not be taken for a
// guard that admits a request.

#include "router/models/models.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "router/config/load.h"
#include "router/models/remote_embedder.h"
#include "router/models/shaped_embedder.h"
#include "tests/router/fake_classifier.h"

namespace signalbox::models {
namespace {

namespace fs = std::filesystem;

config::Config configuration(std::string_view routing, std::string_view catalog = "{}",
                             std::string_view model = "") {
  auto loaded = config::parse(fmt::format(R"(
version: v0.3
listeners: [{{name: http, address: 127.0.0.1, port: 8801}}]
providers:
  defaults: {{default_model: m}}
  models: [{{name: m, {} backend_refs: [{{type: echo}}]}}]
routing: {}
global: {{model_catalog: {}}}
)",
                                          model, routing, catalog),
                              "test.yaml");
  if (!loaded) {
    ADD_FAILURE() << loaded.error().message;
    return {};
  }
  return std::move(loaded->config);
}

constexpr MissingModels kRefuse{.stand_in = false, .refuse = true};
constexpr MissingModels kLeaveOut{.stand_in = false, .refuse = false};

Result<ModelCache::Model> open_fake(const std::string&) {
  return std::make_shared<const test::FakeClassifier>(
      std::vector<std::string>{"jailbreak", "benign"}, engine::HeadKind::kSequence, false);
}

/// Returns the reason why the configuration is refused, or "".
std::string refusal(const config::Config& config) {
  const auto models = open_models(config, kRefuse, open_fake);
  if (models) return "";
  EXPECT_EQ(models.error().code, Code::kInvalid);
  return models.error().message;
}

std::string deciding_on(std::string_view signals, std::string_view condition) {
  return fmt::format(
      "{{signals: {}, decisions: [{{name: d, rules: {}, modelRefs: [{{model: m}}]}}]}}", signals,
      condition);
}

constexpr std::string_view kGuard = "{jailbreak: [{name: j}, {name: other}]}";
constexpr std::string_view kAsked = "{type: jailbreak, name: j}";

TEST(Models, a_guard_that_a_decision_depends_on_must_have_its_model) {
  EXPECT_EQ(
      refusal(configuration(deciding_on(kGuard, kAsked), "{system: {prompt_guard: /gone/guard}}")),
      "test.yaml:8: global.model_catalog.system.prompt_guard: there is no model at "
      "\"/gone/guard\", but decisions depend on jailbreak signals; fetch it with `signalbox models "
      "pull hf:OWNER/NAME`, fetch models that stand in with `signalbox models pull`, or serve "
      "without it with --missing-models ignore");
}

TEST(Models, the_model_of_safety_signals_is_one_that_the_file_names) {
  EXPECT_EQ(
      refusal(configuration(deciding_on("{safety: [{name: s}]}", "{type: safety, name: s}"))),
      "test.yaml: global.model_catalog.system.safety: there is no model at \"models/safety\", but "
      "decisions depend on safety signals; name the directory of a classifier with the classes "
      "safe and unsafe in global.model_catalog.system.safety, or serve without it with "
      "--missing-models ignore");
}

// "prompt-guard" is the Semantic Router's name for the repository
// jailbreak_classifier_modernbert-base_model.
TEST(Models, a_model_is_also_found_where_pull_puts_it) {
  const auto root = fs::path(testing::TempDir()) / "pulled_models";
  const std::string named =
      fmt::format("{{system: {{prompt_guard: {}/prompt-guard}}}}", root.string());
  const auto config = configuration(deciding_on(kGuard, kAsked), named);
  EXPECT_NE(refusal(config).find(fmt::format(
                "fetch it with `signalbox models pull "
                "hf:llm-semantic-router/jailbreak_classifier_modernbert-base_model --to {}`",
                root.string())),
            std::string::npos)
      << refusal(config);
  const auto pulled = root / "jailbreak_classifier_modernbert-base_model";
  fs::create_directories(pulled);
  std::ofstream(pulled / "config.json") << "{}";
  EXPECT_EQ(refusal(config), "");
  fs::remove_all(root);
}

TEST(Models, the_default_directories_are_configured_too) {
  EXPECT_NE(refusal(configuration(deciding_on(
                        "{pii: [{name: p}], domains: [{name: law}]}",
                        "{operator: NOT, conditions: [{operator: AND, conditions: [{type: pii, "
                        "name: p}, {type: domain, name: law}]}]}")))
                .find("global.model_catalog.system.domain_classifier: there is no model at "
                      "\"models/mmbert32k-intent-classifier-merged\", but decisions depend on "
                      "domain signals; fetch it with `signalbox models pull hf:llm-semantic-router/"
                      "mmbert32k-intent-classifier-merged`, fetch models that stand in with "
                      "`signalbox models pull`, or serve without it with --missing-models ignore\n"
                      "test.yaml: global.model_catalog.system.pii_classifier: "),
            std::string::npos)
      << "both models are reported at once";
}

TEST(Models, the_key_is_the_one_that_names_the_directory) {
  EXPECT_NE(refusal(configuration(deciding_on(kGuard, kAsked),
                                  "{modules: {prompt_guard: {model_id: /gone/mine}}}"))
                .find("global.model_catalog.modules.prompt_guard.model_id: there is no model at "
                      "\"/gone/mine\""),
            std::string::npos);
  EXPECT_NE(
      refusal(
          configuration(deciding_on(
              "{classifiers: [{name: tone, type: local, model_path: /gone/tone, labels: [rude]}]}",
              "{type: classifier, name: tone, label: rude}")))
          .find(
              "model_path of the classifier signal \"tone\": there is no model at \"/gone/tone\""),
      std::string::npos);
}

TEST(Models, notices_name_the_line_of_each_missing_model_and_what_serving_would_do) {
  const auto notices = [](std::string_view signals, std::string_view condition,
                          std::string_view catalog) {
    return missing_model_notices(configuration(deciding_on(signals, condition), catalog));
  };
  const auto required =
      notices(kGuard, kAsked, "{missing_models: fail, system: {prompt_guard: /gone/guard}}");
  ASSERT_EQ(required.size(), 1U);
  EXPECT_TRUE(
      required[0].starts_with("test.yaml:8: global.model_catalog.system.prompt_guard: there is no "
                              "model at \"/gone/guard\", "
                              "but decisions depend on jailbreak signals; fetch it with"))
      << required[0];
  const std::string absent =
      "test.yaml:8: global.model_catalog.system.prompt_guard: there is no model at \"/gone/guard\" "
      "for jailbreak signals";
  EXPECT_EQ(
      notices(kGuard, kAsked, "{missing_models: ignore, system: {prompt_guard: /gone/guard}}"),
      std::vector{absent});
  EXPECT_EQ(notices("{jailbreak: [{name: other}], keywords: [{name: k, keywords: [a]}]}",
                    "{type: keyword, name: k}",
                    "{missing_models: fail, system: {prompt_guard: /gone/guard}}"),
            std::vector{absent});
  const auto embedder = notices("{embeddings: [{name: e, threshold: 0.5, candidates: [a]}]}",
                                "{type: embedding, name: e}",
                                "{embeddings: {semantic: {minilm_model_path: /gone/embedder}}}");
  ASSERT_EQ(embedder.size(), 1U);
  EXPECT_TRUE(embedder[0].starts_with(
      "test.yaml:8: global.model_catalog.embeddings.semantic.minilm_model_path: there is no model "
      "at \"/gone/embedder\", but decisions depend on embedding signals;"))
      << embedder[0];
  const std::string here = testing::TempDir();
  EXPECT_EQ(notices(kGuard, kAsked, fmt::format("{{system: {{prompt_guard: {}}}}}", here)),
            std::vector<std::string>{});
}

TEST(Models, comparing_meanings_needs_the_embedding_model) {
  const std::string message = refusal(configuration(
      deciding_on("{jailbreak: [{name: j, method: contrastive, jailbreak_patterns: [obey], "
                  "benign_patterns: [hello]}]}",
                  kAsked),
      "{embeddings: {semantic: {minilm_model_path: /gone/embedder}}}"));
  EXPECT_NE(message.find("global.model_catalog.embeddings.semantic.minilm_model_path: there is no "
                         "model at \"/gone/embedder\""),
            std::string::npos)
      << message;
  EXPECT_EQ(message.find("prompt_guard"), std::string::npos) << message;
}

TEST(Models, embedding_signals_need_their_configured_model) {
  const auto config =
      configuration("{signals: {embeddings: [{name: e, threshold: 0.5, candidates: [x]}]}}",
                    "{embeddings: {semantic: {minilm_model_path: /gone/embedder}}}");
  EXPECT_NE(refusal(config).find("minilm_model_path: there is no model at \"/gone/embedder\""),
            std::string::npos);
  const auto models = open_models(config, kLeaveOut, open_directly(config.http));
  ASSERT_FALSE(models);
  EXPECT_EQ(models.error().message, refusal(config));
  EXPECT_EQ(refusal(config).find("--missing-models ignore"), std::string::npos)
      << "it would not help: " << refusal(config);
}

TEST(Models, a_model_that_no_decision_depends_on_may_be_missing) {
  EXPECT_EQ(refusal(configuration(deciding_on("{jailbreak: [{name: j}], keywords: [{name: k, "
                                              "keywords: [x]}]}",
                                              "{type: keyword, name: k}"))),
            "");
  EXPECT_EQ(refusal(configuration(deciding_on(kGuard, kAsked),
                                  "{modules: {prompt_guard: {enabled: false}}}")),
            "")
      << "switched off is not a mistake";
  EXPECT_EQ(refusal(configuration("{}", "{}", "pii_policy: {allow_by_default: false},")), "")
      << "such a model gets no requests";
}

TEST(Models, models_of_recipes_are_checked_too) {
  auto config = configuration("{}", "{system: {prompt_guard: /gone/guard}}");
  config::Recipe recipe;
  recipe.name = "strict";
  recipe.routing = configuration(deciding_on(kGuard, kAsked)).routing;
  config.recipes.push_back(std::move(recipe));
  EXPECT_NE(refusal(config), "");
}

TEST(Models, commands_that_serve_no_requests_may_leave_models_out) {
  const auto config = configuration(deciding_on(kGuard, kAsked));
  const auto models = open_models(config, kLeaveOut, open_fake);
  ASSERT_TRUE(models) << models.error().message;
  EXPECT_TRUE(models->classifiers.empty());
}

/// A folder with heads of ours that are empty; removed at the end.
class OwnHeads {
 public:
  OwnHeads() {
    for (const char* head : {"signals/domain", "signals/fact-check", "attacks/jailbreak"})
      fs::create_directories(folder_ / head);
  }
  ~OwnHeads() { fs::remove_all(folder_); }
  std::string path(std::string_view name) const { return (folder_ / name).string(); }

 private:
  fs::path folder_ = fs::temp_directory_path() / fmt::format("signalbox_heads_{}", ::getpid());
};

TEST(Models, our_head_for_the_task_stands_in_for_a_missing_one) {
  const OwnHeads heads;
  const std::string missing = heads.path("mmbert32k-jailbreak-detector-merged");
  const auto config = configuration(deciding_on(kGuard, kAsked),
                                    fmt::format("{{system: {{prompt_guard: {}}}}}", missing));
  for (const bool refuse : {false, true}) {
    const auto models = open_models(config, {.stand_in = true, .refuse = refuse}, open_fake);
    ASSERT_TRUE(models) << models.error().message;
    EXPECT_TRUE(models->classifiers.contains(missing));
    EXPECT_EQ(models->answering(missing), heads.path("attacks/jailbreak"));
    ASSERT_EQ(models->notices.size(), 1U) << "one line for each";
    EXPECT_EQ(
        models->notices[0],
        fmt::format("test.yaml:8: global.model_catalog.system.prompt_guard: there is no model "
                    "at \"{}\"; {} stands in for it",
                    missing, heads.path("attacks/jailbreak")));
  }
  EXPECT_NE(refusal(config), "") << "--missing-models fail";
  const auto without = open_models(config, kLeaveOut, open_fake);
  ASSERT_TRUE(without);
  EXPECT_TRUE(without->classifiers.empty()) << "--missing-models ignore";
}

TEST(Models, a_classifier_signal_has_a_stand_in_only_with_its_labels) {
  const OwnHeads heads;
  const auto models_of = [&](std::string_view name, std::string_view labels) {
    const auto config = configuration(fmt::format(
        "{{signals: {{classifiers: [{{name: c, type: local, model_path: {}, labels: {}}}]}}}}",
        heads.path(name), labels));
    return open_models(config, {.stand_in = true, .refuse = false}, open_fake);
  };
  EXPECT_EQ(models_of("my-intent-classifier", "[math, Computer-Science]")->stand_ins.size(), 1U);
  EXPECT_EQ(models_of("prompt-guard-86m", "[BENIGN, INJECTION]")->stand_ins.size(), 1U)
      << "labels of the same meaning";
  EXPECT_TRUE(models_of("my-intent-classifier", "[refund, complaint]")->stand_ins.empty());
  EXPECT_TRUE(models_of("tone", "[math]")->stand_ins.empty()) << "nothing shows its task";
}

TEST(Models, existing_directories_are_opened) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("signalbox_{}", ::getpid());
  fs::create_directories(folder);
  const auto config =
      configuration(deciding_on(kGuard, kAsked),
                    fmt::format("{{system: {{prompt_guard: {}}}}}", folder.string()));
  const auto models = open_models(config, kRefuse, open_fake);
  fs::remove(folder);
  ASSERT_TRUE(models) << models.error().message;
  EXPECT_TRUE(models->classifiers.contains(folder.string()));
}

/// An empty working directory for a test; the old one is restored.
class OwnFolder {
 public:
  OwnFolder() {
    fs::create_directories(folder_);
    fs::current_path(folder_);
  }
  ~OwnFolder() {
    fs::current_path(before_);
    fs::remove_all(folder_);
  }

 private:
  fs::path before_ = fs::current_path();
  fs::path folder_ = fs::temp_directory_path() / fmt::format("signalbox_models_{}", ::getpid());
};

void write_files(const fs::path& folder, std::initializer_list<const char*> names) {
  fs::create_directories(folder);
  for (const char* name : names) std::ofstream(folder / name) << "{}";
}

TEST(Models, the_guard_is_found_by_its_name_adapters_first) {
  const OwnFolder here;
  const auto config = configuration(deciding_on(kGuard, kAsked));
  EXPECT_EQ(classifier_directory(config, "jailbreak"),
            "models/mmbert32k-jailbreak-detector-merged");
  write_files("models/jailbreak_classifier_modernbert-base_model",
              {"config.json", "model.safetensors"});
  EXPECT_EQ(classifier_directory(config, "jailbreak"),
            "models/jailbreak_classifier_modernbert-base_model");
  write_files("models/lora_jailbreak_classifier_roberta_model",
              {"adapter_config.json", "adapter_model.safetensors"});
  write_files("models/lora_jailbreak_classifier_bert_model", {"adapter_config.json"});
  EXPECT_EQ(classifier_directory(config, "jailbreak"),
            "models/lora_jailbreak_classifier_roberta_model")
      << "the one for BERT is incomplete";
  const auto own = configuration("{}", "{system: {prompt_guard: /gone/mine}}");
  EXPECT_EQ(classifier_directory(own, "jailbreak"), "/gone/mine") << "a file's own choice stays";
  write_files("models/mmbert32k-jailbreak-detector-merged", {"config.json", "model.safetensors"});
  EXPECT_EQ(classifier_directory(config, "jailbreak"),
            "models/mmbert32k-jailbreak-detector-merged");
}

TEST(Models, the_embedding_model_of_the_configured_type_is_used_if_it_exists) {
  const OwnFolder here;
  const auto semantic = [](std::string_view keys) {
    return configuration("{}", fmt::format("{{embeddings: {{semantic: {{{}}}}}}}", keys))
        .embedding_model;
  };
  const char* upstream =
      "mmbert_model_path: models/mm, embedding_config: {model_type: mmbert, target_layer: 6, "
      "target_dimension: 256}";
  const auto absent = semantic(upstream);
  EXPECT_EQ(absent.path, "models/minilm");
  EXPECT_EQ(absent.target_layer, 0u) << "another model has other layers";
  write_files("models/mm", {"config.json"});
  write_files("models/q", {"config.json"});
  const auto present = semantic(upstream);
  EXPECT_EQ(present.path, "models/mm");
  EXPECT_EQ(present.path_key, "mmbert_model_path");
  EXPECT_EQ(present.target_layer, 6u);
  EXPECT_EQ(present.target_dimension, 256u);
  EXPECT_EQ(semantic("qwen3_model_path: models/q").path, "models/q") << "without a type";
  EXPECT_EQ(semantic("qwen3_model_path: models/q, mmbert_model_path: models/mm, embedding_config: "
                     "{model_type: qwen3}")
                .path,
            "models/q");
  EXPECT_EQ(semantic("minilm_model_path: models/own, qwen3_model_path: models/q").path,
            "models/own");
}

class FakeModel : public test::FakeClassifier {
 public:
  FakeModel() : FakeClassifier({"a"}, engine::HeadKind::kSequence, false) {}
  int32_t dim() const override { return 8; }
  int32_t layers() const override { return 4; }
  using FakeClassifier::embed;
  Result<void> embed(std::span<const std::string_view> texts, const engine::EmbedOptions& options,
                     std::span<float> out) const override {
    EXPECT_EQ(out.size(), texts.size() * options.dim);
    std::ranges::fill(out, static_cast<float>(options.layers));
    return {};
  }
};

TEST(Models, an_embedder_stops_at_its_layer_and_keeps_its_dimensions) {
  const auto model = std::make_shared<const FakeModel>();
  config::EmbeddingModel config;
  EXPECT_EQ(shape_embedder(config, model), model);
  config.target_layer = 22;
  config.target_dimension = 768;
  EXPECT_EQ(shape_embedder(config, model), model) << "the model has fewer of both";
  config.target_layer = 2;
  config.target_dimension = 3;
  const auto shaped = shape_embedder(config, model);
  EXPECT_EQ(shaped->dim(), 3);
  EXPECT_EQ(shaped->text_model(), model.get());
  const std::string_view text = "x";
  std::vector<float> out(3);
  ASSERT_TRUE(shaped->embed({&text, 1}, out));
  EXPECT_EQ(out, std::vector<float>(3, 2.0f));
}

TEST(Models, replies_of_an_embedding_server_are_checked) {
  std::vector<float> out(4);
  ASSERT_TRUE(read_embeddings_reply(
      R"({"data":[{"index":1,"embedding":[0,-2]},{"index":0,"embedding":[3,4]}]})", 2, out));
  EXPECT_EQ(out, (std::vector<float>{0.6f, 0.8f, 0, -1}));
  const struct {
    const char *body, *message;
  } cases[] = {
      {"<html>", "not JSON"},
      {R"({"error":{}})", "data: expected an array"},
      {R"({"data":[{"index":0,"embedding":[1,2]}]})", "data: 1 embeddings of 2 texts"},
      {R"({"data":[{"index":2,"embedding":[1,2]}]})", "data[0]: expected the embedding of a new"},
      {R"({"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]})",
       "data[1]: expected"},
      {R"({"data":[{"embedding":[1,2]},{"embedding":[1]}]})", "data[1]: 1 numbers, expected 2"},
      {R"({"data":[{"embedding":[0,0]}]})", "embedding: every number is zero"},
      {R"({"data":[{"embedding":[1,"x"]}]})", "embedding[1]: expected a number"},
      {R"({"data":[{"embedding":"abcd"}]})", "embedding: expected an array"},
      {R"({"data":[7]})", "data[0]: expected"},
  };
  for (const auto& [body, message] : cases) {
    const auto read = read_embeddings_reply(body, 2, out);
    ASSERT_FALSE(read) << body;
    EXPECT_EQ(read.error().code, Code::kUpstream);
    EXPECT_NE(read.error().message.find(message), std::string::npos) << read.error().message;
  }
}

TEST(Models, an_error_about_a_broken_model_names_its_key) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("signalbox_{}", ::getpid());
  fs::create_directories(folder);
  const auto config =
      configuration(deciding_on(kGuard, kAsked),
                    fmt::format("{{system: {{prompt_guard: {}}}}}", folder.string()));
  const auto open = [](const std::string&) -> Result<ModelCache::Model> {
    return fail(Code::kCorrupt, "model.safetensors: 0 bytes");
  };
  const auto models = open_models(config, kRefuse, open);
  fs::remove(folder);
  ASSERT_FALSE(models);
  EXPECT_EQ(models.error().code, Code::kCorrupt);
  EXPECT_EQ(models.error().message,
            "test.yaml: global.model_catalog.system.prompt_guard: model.safetensors: 0 bytes");
}

}  // namespace
}  // namespace signalbox::models
