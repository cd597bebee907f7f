#pragma once
// Requests, routers and a double of a classifier for the tests of evaluations.

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "router/config/load.h"
#include "router/routing/router.h"
#include "tests/router/fake_classifier.h"

namespace signalbox::routing {

// Counts its passes, and calls `in_pass` in each.
class Watched : public test::FakeClassifier {
 public:
  Watched(std::vector<std::string> labels, engine::HeadKind kind,
          std::function<void()> in_pass = {})
      : test::FakeClassifier(std::move(labels), kind, false), in_pass_(std::move(in_pass)) {}

  Result<std::vector<engine::Answer>> answer(std::span<const engine::Input> inputs) const override {
    ++passes;
    if (in_pass_) in_pass_();
    return test::FakeClassifier::answer(inputs);
  }

  mutable std::atomic<int> passes{0};

 private:
  std::function<void()> in_pass_;
};

inline std::shared_ptr<Watched> classes(std::vector<std::string> labels,
                                        std::function<void()> in_pass = {}) {
  return std::make_shared<Watched>(std::move(labels), engine::HeadKind::kSequence,
                                   std::move(in_pass));
}

inline request::ChatRequest request_with(std::string_view text) {
  json::Writer out;
  out.begin_object().member("model", "auto").key("messages").begin_array();
  out.begin_object().member("role", "user").member("content", text).end_object();
  return *request::ChatRequest::parse(out.end_array().end_object().take());
}

inline std::unique_ptr<const Router> router_of(std::string_view routing, models::Models models) {
  auto loaded = config::parse(fmt::format(R"(version: v0.3
providers:
  defaults: {{default_model: m}}
  models: [{{name: m, backend_refs: [{{type: echo}}]}}]
{})",
                                          routing),
                              "test.yaml");
  EXPECT_TRUE(loaded) << loaded.error().message;
  auto router = Router::create(std::move(loaded->config), std::move(models));
  EXPECT_TRUE(router) << router.error().message;
  return *std::move(router);
}

inline std::string decision_of(const Evaluation& evaluation) {
  return evaluation.decision() == nullptr ? "none" : evaluation.decision()->name;
}

// Returns a member of a decision's condition in the explanation's trace.
inline std::string explained(const Evaluation& evaluation, std::string_view decision,
                             std::string_view member) {
  const auto document = json::Document::parse(evaluation.explain_json());
  for (const json::Value& each : document->root().find("trace")->items()) {
    if (each.find("decision")->text() != decision) continue;
    const auto found = each.find("rules")->find(member);
    return found ? std::string(found->is_string() ? found->text() : found->raw()) : "nothing";
  }
  return "no such decision";
}

}  // namespace signalbox::routing
