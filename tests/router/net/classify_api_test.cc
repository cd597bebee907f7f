// Tests the classification API as clients use it, with models without networks.

#include <gtest/gtest.h>

#include <ctime>

#include "base/base64.h"
#include "base/json.h"
#include "router/config/load.h"
#include "router/daemon/serve.h"
#include "tests/router/fake_classifier.h"
#include "tests/router/fake_embedder.h"
#include "tests/router/net/gateway.h"
#include "tests/router/net/json_member.h"
#include "tests/router/net/started.h"

namespace signalbox::test {
namespace {

using daemon::Daemon;
using engine::HeadKind;
using test::FakeClassifier;

constexpr std::string_view kHead = R"(
version: v0.3
listeners:
  - {name: http, address: 127.0.0.1, port: 0, timeout: 20s}
providers:
  defaults: {default_model: general}
  models:
    - {name: general, backend_refs: [{name: echo, type: echo}]}
    - {name: expert, backend_refs: [{name: echo, type: echo}]}
    - {name: careful, pii_policy: {allow_by_default: false}, backend_refs: [{name: echo, type: echo}]}
routing:
  signals:
    keywords:
      - {name: proof, operator: OR, keywords: [theorem]}
  decisions:
    - name: maths
      rules: {operator: OR, conditions: [{type: keyword, name: proof}]}
      modelRefs: [{model: expert}]
global:
  services:
    management_api: {bind_address: 127.0.0.1, port: 0}
    api: {batch_classification: {max_batch_size: 3}}
)";

constexpr std::string_view kModels = R"(
  model_catalog:
    system: {domain_classifier: domain, pii_classifier: pii, prompt_guard: guard, fact_check_classifier: fact,
             feedback_detector: feedback, hallucination_explainer: nli}
    modules: {classifier: {pii: {threshold: 0.8}}}
)";

/// Returns all fake models, by directory.
Result<models::Models> open_fakes(const config::Config&) {
  const auto make = [](std::vector<std::string> labels, HeadKind kind = HeadKind::kSequence) {
    return std::make_shared<const test::FakeClassifier>(std::move(labels), kind, false);
  };
  models::Models models;
  models.embedder = std::make_shared<const test::FakeEmbedder>();
  models.classifiers = {
      {"domain", make({"math", "law", "other"})},
      {"pii", make({"PERSON", "EMAIL"}, HeadKind::kTokens)},
      {"guard", make({"benign", "jailbreak"})},
      {"fact", make({"NO_NEED", "FACT_CHECK_NEEDED"})},
      {"feedback", make({"SAT", "WRONG_ANSWER"})},
      {"nli", make({"entailment", "neutral", "contradiction"})},
  };
  return models;
}

class ClassifyApi : public testing::Test {
 protected:
  void SetUp() override {
    daemon_ = started(std::string(kHead) + std::string(kModels), {}, open_fakes);
  }
  Reply ask(std::string_view path, std::string_view body,
            std::string_view listener = "management") const {
    Wire client = Wire::connect(daemon_->port(listener));
    client.send(post(path, body));
    return client.read_reply();
  }
  Reply get_it(std::string_view path) const {
    Wire client = Wire::connect(daemon_->port("management"));
    client.send(get(path));
    return client.read_reply();
  }
  /// Expects status 200 and the members, each "path=value".
  void expect(std::string_view path, std::string_view body,
              const std::vector<std::pair<std::string, std::string>>& members) const {
    const Reply reply = ask(path, body);
    EXPECT_EQ(reply.status, 200) << path << " " << reply.body;
    for (const auto& [at, value] : members)
      EXPECT_EQ(member(reply.body, at), value) << path << " " << at << "\n" << reply.body;
    const std::string took =
        path == "/api/v1/embeddings" ? "total_processing_time_ms" : "processing_time_ms";
    EXPECT_NE(reply.body.find(took), std::string::npos) << path;
  }

  std::unique_ptr<Daemon> daemon_;
};

TEST_F(ClassifyApi, moderates_in_the_shape_of_openai) {
  const Reply several =
      ask("/v1/moderations",
          R"({"model":"auto","input":["benign","jailbreak","mail a@b.example"]})", "http");
  ASSERT_EQ(several.status, 200) << several.body;
  for (const auto& [at, value] : std::vector<std::pair<std::string, std::string>>{
           {"model", "guards"},
           {"results.0.flagged", "false"},
           {"results.1.flagged", "true"},
           {"results.1.categories.jailbreak", "true"},
           {"results.1.categories.pii", "false"},
           {"results.1.category_scores.jailbreak", "0.9"},
           {"results.1.category_applied_input_types.jailbreak.0", "text"},
           {"results.2.categories.pii", "true"},
           {"results.3", "none"}})
    EXPECT_EQ(member(several.body, at), value) << at << "\n" << several.body;
  const Reply parts = ask(
      "/v1/moderations",
      R"({"input":[{"type":"text","text":"benign"},{"type":"text","text":"jailbreak"}]})", "http");
  EXPECT_EQ(member(parts.body, "results.0.flagged"), "true") << parts.body;
  EXPECT_EQ(member(parts.body, "results.1"), "none") << parts.body;
  for (const char* wrong :
       {R"({})", R"({"input":5})", R"({"input":[]})", R"({"input":[{"type":"image_url"}]})",
        R"({"input":["a",{"type":"text","text":"b"}]})", R"({"input":"a","model":5})", "["})
    EXPECT_EQ(ask("/v1/moderations", wrong, "http").status, 400) << wrong;
  EXPECT_EQ(ask("/v1/moderations", R"({"input":"a","model":"omni"})", "http").status, 404);
}

TEST_F(ClassifyApi, a_pii_policy_holds_for_embeddings_too) {
  const auto status_of = [&](std::string_view body) {
    return ask("/v1/embeddings", body, "http").status;
  };
  const Reply refused =
      ask("/v1/embeddings", R"({"model":"careful","input":"mail a@b.example"})", "http");
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(member(refused.body, "error.code"), "pii_policy_violation") << refused.body;
  EXPECT_EQ(status_of(R"({"model":"careful","input":"one","user":"a@b.example"})"), 403);
  EXPECT_EQ(status_of(R"({"model":"careful","input":[1,2]})"), 400);
  // The echo server needs messages.
  EXPECT_EQ(status_of(R"({"model":"careful","input":"one","user":"two",
                          "messages":[{"role":"user","content":"three"}]})"),
            200);
}

TEST_F(ClassifyApi, returns_intents_with_the_decision_of_the_routing) {
  expect("/api/v1/classify/intent",
         R"({"text":"a theorem of math","options":{"return_probabilities":true}})",
         {{"classification.category", "math"},
          {"classification.confidence", "0.9"},
          {"probabilities.math", "0.9"},
          {"recommended_model", "expert"},
          {"routing_decision", "maths"},
          {"matched_signals.keywords.0", "proof"},
          {"decision_result.decision_name", "maths"},
          {"decision_result.matched_rules.0", "keyword:proof"}});
  expect("/api/v1/classify/intent", R"({"text":"nothing that it knows"})",
         {{"classification.category", "other"}, {"recommended_model", "general"}});
  expect(
      "/api/v1/classify/intent",
      R"({"messages":[{"role":"user","content":"law"}],"options":{"confidence_threshold":0.95}})",
      {{"classification.category", "other"}, {"probabilities", "none"}});
}

TEST_F(ClassifyApi, finds_personal_data) {
  expect("/api/v1/classify/pii", R"({"text":"Für PERSON, EMAIL and PERSON"})",
         {{"has_pii", "true"},
          {"entities.0.type", "PERSON"},
          {"entities.0.value", "[DETECTED]"},
          {"entities.0.start_position", "none"},
          {"masked_text", "none"},
          {"security_recommendation", "block"}});
  expect(
      "/api/v1/classify/pii",
      R"({"text":"Für PERSON, EMAIL","options":{"return_positions":true,"mask_entities":true,"reveal_entity_text":true}})",
      {{"entities.0.value", "PERSON"},
       {"entities.0.start_position", "4"},
       {"entities.0.end_position", "10"},
       {"entities.1.type", "EMAIL"},
       {"entities.1.masked_value", "[EMAIL_0]"},
       {"masked_text", "Für [PERSON_0], [EMAIL_0]"}});
  expect("/api/v1/classify/pii", R"({"text":"PERSON or 4111 1111 1111 1111"})",
         {{"entities.0.source", "model"},
          {"entities.1.type", "CREDIT_CARD"},
          {"entities.1.confidence", "1"},
          {"entities.1.source", "rule"},
          {"entities.2.type", "none"}});
  expect("/api/v1/classify/pii", R"({"text":"PERSON","options":{"entity_types":["email"]}})",
         {{"has_pii", "false"}, {"entities", "[]"}, {"security_recommendation", "allow"}});
  expect("/api/v1/classify/pii", R"({"text":"PERSON","options":{"confidence_threshold":0.95}})",
         {{"has_pii", "false"}});
}

TEST_F(ClassifyApi, finds_personal_data_late_in_a_long_text) {
  const std::string late = std::string(3000, 'x') + " EMAIL";
  expect("/api/v1/classify/pii",
         R"({"text":")" + late + R"(","options":{"return_positions":true}})",
         {{"entities.0.start_position", "3001"}, {"entities.1.type", "none"}});
  expect("/api/v1/classify/security", R"({"text":")" + std::string(300, 'x') + " jailbreak\"}",
         {{"is_jailbreak", "true"}});
  expect("/api/v1/classify/security", R"({"text":")" + std::string(3000, 'x') + " jailbreak\"}",
         {{"is_jailbreak", "true"}});  // one of 14 windows
  const Reply reply =
      ask("/api/v1/classify/pii", R"({"text":")" + std::string(1 << 20, 'x') + " EMAIL\"}");
  EXPECT_EQ(reply.status, 413) << "not judged by a part of it";
  EXPECT_EQ(member(reply.body, "error.code"), "INPUT_TOO_LARGE");
  const auto with_types = [](std::string_view types) {
    return fmt::format(R"({{"text":"{} a@b.com","options":{{"entity_types":[{}]}}}})",
                       std::string(1 << 20, 'x'), types);
  };
  expect("/api/v1/classify/pii", with_types(R"("email_address")"),
         {{"entities.0.type", "EMAIL_ADDRESS"}, {"entities.1.type", "none"}});
  EXPECT_EQ(ask("/api/v1/classify/pii", with_types(R"("EMAIL_ADDRESS","PERSON")")).status, 413);
}

// Returns a text of two windows with one label, and a short third window with the other label.
std::string long_text(std::string_view often, std::string_view late) {
  std::string text(500, 'x');
  text.replace(10, often.size(), often).replace(300, often.size(), often);
  return text.replace(482, late.size(), late);
}

TEST_F(ClassifyApi, judges_a_long_text_like_the_signals) {
  const std::string text = R"({"text":")" + long_text("math", "law") + "\"}";
  const std::string texts = R"({"texts":["law",")" + long_text("math", "law") + R"(","other"]})";
  const Reply one = ask("/api/v1/classify/intent", text);
  EXPECT_EQ(member(one.body, "classification.category"), "math");
  // The mean of 512 bytes at 0.9 and 52 at 0.05.
  EXPECT_NEAR(std::stod(member(one.body, "classification.confidence")), 0.82163, 1e-4);
  const Reply batch = ask("/api/v1/classify/batch", texts);
  EXPECT_EQ(member(batch.body, "results.0.category"), "law");
  EXPECT_EQ(member(batch.body, "results.1.category"), "math");
  EXPECT_NEAR(std::stod(member(batch.body, "results.1.confidence")), 0.82163, 1e-4);
  EXPECT_EQ(member(batch.body, "results.2.category"), "other");
  expect("/api/v1/classify/fact-check",
         R"({"text":")" + long_text("NO_NEED", "FACT_CHECK_NEEDED") + "\"}",
         {{"needs_fact_check", "false"}, {"label", "NO_NEED"}});
  expect("/api/v1/classify/user-feedback",
         R"({"text":")" + long_text("SAT", "WRONG_ANSWER") + "\"}",
         {{"feedback_type", "satisfied"}});
}

TEST_F(ClassifyApi, reads_the_skeleton_that_the_signals_read) {
  std::string models(kModels);
  models.replace(models.find("{classifier"), 1,
                 "{prompt_compression: {enabled: true, max_tokens: 32}, ");
  daemon_ = started(std::string(kHead) + models, {}, open_fakes);
  std::string text = "The math of this is old. The math of that is new.";
  for (int i = 0; i < 50; ++i) text += " Here it is a law that says what is what.";
  expect("/api/v1/classify/intent", R"({"text":")" + text + R"( In the end it is math."})",
         {{"classification.category", "math"}, {"classification.confidence", "0.9"}});
}

TEST_F(ClassifyApi, judges_attempts_facts_feedback_and_inference) {
  expect("/api/v1/classify/security",
         R"({"text":"jailbreak","options":{"include_reasoning":true}})",
         {{"is_jailbreak", "true"},
          {"detection_types.0", "jailbreak"},
          {"patterns_detected.0", "jailbreak"},
          {"risk_score", "0.9"},
          {"recommendation", "block"}});
  expect("/api/v1/classify/security", R"({"text":"benign"})",
         {{"is_jailbreak", "false"}, {"detection_types", "[]"}, {"recommendation", "allow"}});
  expect("/api/v1/classify/fact-check", R"({"text":"FACT_CHECK_NEEDED"})",
         {{"needs_fact_check", "true"}, {"label", "FACT_CHECK_NEEDED"}, {"confidence", "0.9"}});
  expect("/api/v1/classify/user-feedback", R"({"text":"SAT"})",
         {{"feedback_type", "satisfied"}, {"label", "SAT"}});
  expect("/api/v1/nli", R"({"premise":"contradiction","hypothesis":"x"})",
         {{"label", "contradiction"}, {"contradiction_prob", "0.9"}});
  expect("/api/v1/classify/combined", R"({"text":"PERSON theorem law jailbreak"})",
         {{"intent.classification.category", "law"},
          {"pii.has_pii", "true"},
          {"security.is_jailbreak", "true"}});
}

TEST_F(ClassifyApi, takes_batches) {
  expect("/api/v1/classify/batch", R"({"texts":["math","law","law"]})",
         {{"results.0.category", "math"},
          {"results.2.category", "law"},
          {"total_count", "3"},
          {"statistics.category_distribution.law", "2"},
          {"statistics.low_confidence_count", "0"}});
  expect("/api/v1/classify/batch", R"({"texts":["PERSON","x"],"task_type":"pii"})",
         {{"results.0.category", "PERSON"}, {"results.1.category", "no_pii"}});
  expect("/api/v1/classify/batch", R"({"texts":["jailbreak"],"task_type":"security"})",
         {{"results.0.category", "jailbreak"}});
  expect("/api/v1/classify/batch", R"({"texts":["math"],"task_type":"all"})",
         {{"intent_results.0.category", "math"},
          {"pii_results.0.category", "no_pii"},
          {"security_results.0.category", "safe"},
          {"total_texts", "1"}});
  const Reply wrong = ask("/api/v1/classify/batch", R"({"texts":["x"],"task_type":"poetry"})");
  EXPECT_EQ(member(wrong.body, "error.code"), "INVALID_TASK_TYPE");
  EXPECT_EQ(ask("/api/v1/classify/batch", R"({"texts":["1","2","3","4"]})").status, 400);
}

TEST_F(ClassifyApi, embeds_and_compares) {
  expect("/api/v1/embeddings", R"({"texts":["one two","three"]})",
         {{"embeddings.0.text", "one two"},
          {"embeddings.0.modality", "text"},
          {"embeddings.0.dimension", "64"},
          {"embeddings.1.model_used", "minilm"},
          {"total_count", "2"}});
  expect("/api/v1/similarity", R"({"text1":"one","text2":"one"})",
         {{"similarity", "1"}, {"model_used", "minilm"}});
  expect("/api/v1/similarity/batch",
         R"({"query":"one two","candidates":["three","one two","one"],"top_k":2})",
         {{"matches.0.index", "1"},
          {"matches.0.text", "one two"},
          {"matches.1.index", "2"},
          {"matches.2", "none"},
          {"total_candidates", "3"}});
  EXPECT_EQ(ask("/api/v1/embeddings", R"({"texts":["x"],"dimension":65})").status, 400);
  EXPECT_EQ(ask("/api/v1/embeddings", R"({"texts":["x"],"model":"other"})").status, 404);
  EXPECT_EQ(ask("/api/v1/embeddings", R"({"texts":["x"],"images":["data:"]})").status, 501);
}

TEST_F(ClassifyApi, embeds_like_openai_on_both_listeners) {
  for (const char* listener : {"management", "http"}) {
    const Reply reply = ask("/v1/embeddings", R"({"input":"one","model":"auto"})", listener);
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(member(reply.body, "object"), "list");
    EXPECT_EQ(member(reply.body, "data.0.object"), "embedding");
    EXPECT_EQ(member(reply.body, "usage.total_tokens"), "0") << "a fake counts none";
    const Reply encoded =
        ask("/v1/embeddings",
            R"({"input":["one","two"],"model":"minilm","encoding_format":"base64","dimensions":8})",
            listener);
    const auto bytes = base64::decode(member(encoded.body, "data.1.embedding"));
    ASSERT_TRUE(bytes) << encoded.body;
    EXPECT_EQ(bytes->size(), 8 * sizeof(float));
    EXPECT_EQ(member(encoded.body, "data.1.index"), "1");
    const Reply unknown = ask("/v1/embeddings", R"({"input":"x","model":"nope"})", listener);
    EXPECT_EQ(unknown.status, 404);
    EXPECT_EQ(member(unknown.body, "error.type"), "invalid_request_error");
    EXPECT_EQ(ask("/v1/embeddings", R"({"input":[[1,2]],"model":"auto"})", listener).status, 400);
    EXPECT_EQ(ask("/v1/embeddings", R"({"input":"x"})", listener).status, 400);
  }
}

TEST_F(ClassifyApi, refuses_invalid_requests) {
  for (const char* path :
       {"classify/intent", "classify/pii", "classify/security", "classify/fact-check",
        "classify/user-feedback", "classify/combined", "classify/batch", "nli", "embeddings",
        "similarity", "similarity/batch"}) {
    const std::string whole = fmt::format("/api/v1/{}", path);
    for (const std::string& body :
         {std::string(), std::string("["), std::string("7"), std::string("{}"), std::string("NaN"),
          std::string(R"({"text":7,"texts":7,"premise":7,"query":7,"text1":7})"),
          std::string(R"({"text":"","texts":[""],"premise":"","query":"","text1":""})"),
          std::string(R"({"text":null,"texts":[null],"premise":{},"query":[],"text1":false})"),
          std::string("{\"text\":\"\xff\"}"), "{\"text\":" + std::string(200, '[')}) {
      const Reply reply = ask(whole, body);
      EXPECT_EQ(reply.status, 400) << path << " " << body << ": " << reply.body;
      EXPECT_EQ(member(reply.body, "error.code"), "INVALID_INPUT") << path << " " << body;
      EXPECT_EQ(member(reply.body, "error.timestamp").size(), 20U);
    }
  }
  for (const char* options :
       {R"("x")", R"({"confidence_threshold":2})", R"({"confidence_threshold":-0.1})",
        R"({"confidence_threshold":1e999})", R"({"confidence_threshold":"high"})",
        R"({"return_positions":1,"return_probabilities":1})"}) {
    const std::string body = fmt::format(R"({{"text":"x","options":{}}})", options);
    EXPECT_EQ(ask("/api/v1/classify/pii", body).status, 400) << body;
  }
  EXPECT_EQ(get_it("/api/v1/classify/pii").status, 405);
  EXPECT_EQ(ask("/api/v1/classify/poetry", "{}").status, 404);
}

TEST_F(ClassifyApi, describes_its_models_and_settings) {
  const Reply models = get_it("/info/models");
  EXPECT_EQ(member(models.body, "models.0.name"), "embedding");
  EXPECT_EQ(member(models.body, "models.1.name"), "domain_classifier");
  EXPECT_EQ(member(models.body, "models.1.loaded"), "true");
  EXPECT_EQ(member(models.body, "models.1.categories.0"), "math");
  EXPECT_EQ(member(models.body, "models.4.name"), "safety_classifier");
  EXPECT_EQ(member(models.body, "system.gpu_available"), "false");
  const Reply classifier = get_it("/info/classifier");
  EXPECT_EQ(member(classifier.body, "config.pii.model_path"), "pii");
  EXPECT_EQ(member(classifier.body, "config.safety.model_path"), "models/safety");
  EXPECT_EQ(member(classifier.body, "decisions.0"), "maths");
  EXPECT_EQ(member(get_it("/startup-status").body, "phase"), "ready");
}

TEST(ClassifyModels, info_reports_that_two_classifiers_share_one_model) {
  const auto open_one = [](const config::Config& config) {
    auto models = open_fakes(config);
    models->classifiers["guard"] = models->classifiers["domain"];
    return models;
  };
  const auto daemon = started(std::string(kHead) + std::string(kModels), {}, open_one);
  Wire client = Wire::connect(daemon->port("management"));
  client.send(get("/info/models"));
  const Reply models = client.read_reply();
  EXPECT_EQ(member(models.body, "models.1.same_as"), "none");
  EXPECT_EQ(member(models.body, "models.3.name"), "jailbreak_classifier");
  EXPECT_EQ(member(models.body, "models.3.same_as"), "domain_classifier");
}

TEST(ClassifyWithoutModels, names_the_setting_that_is_missing) {
  const auto daemon = started(kHead);
  const auto ask = [&](std::string_view path, std::string_view body) {
    Wire client = Wire::connect(daemon->port("management"));
    client.send(post(path, body));
    return client.read_reply();
  };
  for (const auto& [path, key] :
       std::vector<std::pair<std::string, std::string>>{{"pii", "pii_classifier"},
                                                        {"security", "prompt_guard"},
                                                        {"fact-check", "fact_check_classifier"},
                                                        {"user-feedback", "feedback_detector"},
                                                        {"batch", "domain_classifier"}}) {
    const Reply reply = ask("/api/v1/classify/" + path, R"({"text":"x","texts":["x"]})");
    EXPECT_EQ(reply.status, 503) << path;
    EXPECT_EQ(member(reply.body, "error.code"), "MODEL_NOT_AVAILABLE");
    EXPECT_NE(reply.body.find("global.model_catalog.system." + key), std::string::npos)
        << reply.body;
  }
  const Reply embeddings = ask("/api/v1/embeddings", R"({"texts":["x"]})");
  EXPECT_EQ(embeddings.status, 503);
  EXPECT_NE(embeddings.body.find("global.model_catalog.embeddings.semantic: cannot be used"),
            std::string::npos)
      << embeddings.body;
  // The routing classifies some intents without a model.
  const Reply intent = ask("/api/v1/classify/intent", R"({"text":"a theorem"})");
  EXPECT_EQ(intent.status, 200) << intent.body;
  EXPECT_EQ(member(intent.body, "classification.category"), "maths");
  EXPECT_EQ(member(intent.body, "classification.source"), "routing");
  const Reply combined = ask("/api/v1/classify/combined", R"({"text":"a theorem"})");
  EXPECT_EQ(combined.status, 200);
  EXPECT_EQ(member(combined.body, "pii.error.code"), "MODEL_NOT_AVAILABLE");
  const Reply checked =
      ask("/api/v1/classify/pii",
          R"({"text":"to a@b.com","options":{"entity_types":["email_address"]}})");
  EXPECT_EQ(member(checked.body, "entities.0.type"), "EMAIL_ADDRESS") << checked.body;
  const Reply named =
      ask("/api/v1/classify/pii", R"({"text":"a@b.com","options":{"entity_types":["PERSON"]}})");
  EXPECT_EQ(named.status, 503);
}

// Four times as many findings must take about four times as long; a quadratic algorithm would take
// sixteen times as long. Measures processor time, because the machine may be busy.
TEST(ClassifyWithoutModels, takes_time_in_proportion_to_the_findings) {
  const auto daemon = started(kHead);
  ASSERT_NE(daemon, nullptr);
  const auto seconds = [&](int findings) {
    std::string text;
    for (int i = 0; i < findings; ++i) text += fmt::format("u{}@b.com ", i);
    const std::string body = fmt::format(
        R"({{"text":"{}","options":{{"entity_types":["EMAIL_ADDRESS"],"return_positions":true,"mask_entities":true}}}})",
        text);
    Wire client = Wire::connect(daemon->port("management"));
    const std::clock_t from = std::clock();
    client.send(post("/api/v1/classify/pii", body));
    const Reply reply = client.read_reply();
    const std::string last = fmt::format("entities.{}.", findings - 1);
    EXPECT_EQ(member(reply.body, last + "masked_value"),
              fmt::format("[EMAIL_ADDRESS_{}]", findings - 1));
    EXPECT_EQ(member(reply.body, last + "end_position"), fmt::format("{}", text.size() - 1));
    return static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC;
  };
  const double one = seconds(10000);
  EXPECT_LT(seconds(40000), 8 * one + 0.05);
}

TEST(ClassifyOnDemand, opens_a_model_that_no_signal_needs_at_its_first_request) {
  std::atomic<int> opened = 0;
  const auto daemon =
      started(std::string(kHead) + "  model_catalog: {system: {prompt_guard: /}}\n", {},
              [&](const config::Config&) {
                models::Models models;
                models.open = [&](const std::string&) -> Result<models::ModelCache::Model> {
                  if (++opened == 1) return fail(Code::kCorrupt, "half a file");
                  return std::make_shared<const test::FakeClassifier>(
                      std::vector<std::string>{"benign", "jailbreak"}, HeadKind::kSequence, false);
                };
                return Result<models::Models>(std::move(models));
              });
  const auto ask = [&] {
    Wire client = Wire::connect(daemon->port("management"));
    client.send(post("/api/v1/classify/security", R"({"text":"jailbreak"})"));
    return client.read_reply();
  };
  EXPECT_EQ(opened, 0);
  const Reply broken = ask();
  EXPECT_EQ(broken.status, 503);
  EXPECT_NE(broken.body.find("global.model_catalog.system.prompt_guard"), std::string::npos);
  EXPECT_EQ(broken.body.find("half a file"), std::string::npos);
  EXPECT_EQ(member(ask().body, "is_jailbreak"), "true");
  EXPECT_EQ(member(ask().body, "is_jailbreak"), "true");
  EXPECT_EQ(opened, 2);
}

TEST(Eval, returns_the_decision_and_every_signal_and_the_model) {
  const auto daemon = started(kHead);
  Wire client = Wire::connect(daemon->port("management"));
  client.send(post("/api/v1/eval", R"({"text":"prove the theorem"})"));
  const Reply hit = client.read_reply();
  ASSERT_EQ(hit.status, 200) << hit.body;
  EXPECT_EQ(member(hit.body, "original_text"), "prove the theorem");
  EXPECT_EQ(member(hit.body, "requested_model"), "auto");
  EXPECT_EQ(member(hit.body, "recipe"), "default");
  EXPECT_EQ(member(hit.body, "decision_result.decision_name"), "maths");
  EXPECT_EQ(member(hit.body, "decision_result.algorithm"), "static");
  EXPECT_EQ(member(hit.body, "selected_model"), "expert");
  EXPECT_EQ(member(hit.body, "selection_status"), "selected");
  EXPECT_NE(hit.body.find(R"("used_signals":{"keywords":["proof"]})"), std::string::npos);
  EXPECT_NE(hit.body.find(R"("matched_signals":{"keywords":["proof"]})"), std::string::npos);
  EXPECT_NE(hit.body.find(R"("unmatched_signals":{})"), std::string::npos);
  EXPECT_NE(hit.body.find(R"("recommended_models":["expert"])"), std::string::npos);
  EXPECT_NE(hit.body.find(R"("signal_confidences":{"keyword:proof":)"), std::string::npos);
  EXPECT_NE(hit.body.find(R"("eval_trace":[{"decision":"maths")"), std::string::npos);

  client.send(
      post("/api/v1/eval",
           R"({"messages":[{"role":"user","content":"hello"}],"options":{"trace":false}})"));
  const Reply miss = client.read_reply();
  ASSERT_EQ(miss.status, 200) << miss.body;
  EXPECT_EQ(member(miss.body, "decision_result.decision_name"), "");
  EXPECT_EQ(member(miss.body, "selected_model"), "general");
  EXPECT_NE(miss.body.find(R"("unmatched_signals":{"keywords":["proof"]})"), std::string::npos);
  EXPECT_EQ(miss.body.find("eval_trace"), std::string::npos);

  client.send(post("/api/v1/eval", R"({"text":"x","recipe":"nowhere"})"));
  const Reply lost = client.read_reply();
  EXPECT_EQ(lost.status, 400);
  EXPECT_NE(lost.body.find("nowhere"), std::string::npos) << lost.body;
  for (const char* wrong : {R"({})", R"({"messages":"x"})", R"({"text":1})",
                            R"({"text":"x","model":7})", R"([])", R"({"messages":[{"role":1}]})"}) {
    client.send(post("/api/v1/eval", wrong));
    const Reply reply = client.read_reply();
    EXPECT_EQ(reply.status, 400) << wrong;
    EXPECT_EQ(member(reply.body, "error.code"), "INVALID_INPUT") << wrong;
  }
}

}  // namespace
}  // namespace signalbox::test
