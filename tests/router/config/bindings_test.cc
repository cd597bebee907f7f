// Bindings of a file beside those of a routing, and the parts of an operating point.

#include <gtest/gtest.h>

#include "tests/router/config/newer_forms.h"

namespace signalbox::config {
namespace {

/// A file and its routing that bind one task to models of their own.
std::string with_two_bindings(std::string_view routing, std::string_view own,
                              std::string_view shared) {
  return fmt::format(R"({}routing:
  {}
  model_bindings: {{{}}}
global:
  model_catalog:
    deployments: {{all: {{provider: candle, artifact: models/all}}, own: {{provider: candle, artifact: models/own}}}}
    bindings: {{{}}}
)",
                     kTwoModels, routing, own, shared);
}

TEST(TwoBindings, a_reranker_of_one_routing_leaves_that_of_the_file_to_clients) {
  const Config config = newer_config(
      with_two_bindings("decisions: [{name: d, modelRefs: [{model: small}]}]",
                        "rag.reranker: {deployment: own, contract: relevance_scores.v1}",
                        "rag.reranker: {deployment: all, contract: relevance_scores.v1}"));
  EXPECT_EQ(config.system_models.reranker, "models/all");
  EXPECT_EQ(reranker_of(config, config.routing), "models/own");
}

TEST(TwoBindings, that_of_a_routing_has_no_operating_point_of_the_file) {
  const Config config = newer_config(with_two_bindings(
      "signals: {classifiers: [{name: risk, type: local, labels: [a, b]}]}",
      "classifier.risk: {deployment: own, contract: label_distribution.v1}",
      "classifier.risk: {deployment: all, contract: label_scores.v1, operating_point: {}}"));
  const ClassifierSignal& signal = config.routing.classifiers.at(0);
  EXPECT_EQ(signal.model_path, "models/own");
  EXPECT_FALSE(signal.operating_point);
}

TEST(OperatingPoint, has_a_digest_in_either_case) {
  const auto file = [](std::string_view digest) {
    return with_two_bindings(
        "signals: {classifiers: [{name: risk, type: local, labels: [a, b]}]}",
        fmt::format("classifier.risk: {{deployment: own, contract: label_scores.v1, "
                    "operating_point: {{sha256: {}}}}}",
                    digest),
        "");
  };
  EXPECT_EQ(newer_errors(file("3C0D")),
            "f.yaml:9: routing.model_bindings.classifier.risk.operating_point.sha256: expected 64 "
            "hexadecimal digits, found \"3C0D\"");
  EXPECT_EQ(
      newer_config(file(std::string(64, 'A'))).routing.classifiers.at(0).operating_point->sha256,
      std::string(64, 'a'));
}

TEST(Rerank, has_no_effect_where_the_model_searches) {
  const std::string file = std::string(kTwoModels) + R"(routing:
  decisions:
    - name: d
      modelRefs: [{model: small}]
      plugins:
        - type: rag
          configuration:
            backend: openai
            rerank: {top_k: 1}
            on_failure: block
            backend_config: {vector_store_id: s, workflow_mode: tool_based}
)";
  EXPECT_EQ(newer_notices(file),
            "f.yaml:15: routing.decisions[0].plugins[0].configuration.rerank: has no effect: with "
            "workflow_mode tool_based, the server of the decision's model searches "
            "(docs/upstream.md)");
  EXPECT_FALSE(newer_config(file).routing.decisions.at(0).rag->rerank);
}

}  // namespace
}  // namespace signalbox::config
