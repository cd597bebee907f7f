// CPU time for routing a request by keywords (parsing, signals, decision, edits), for a choice that
// learning makes by the features of a request, and for finding languages that a guard does not
// support. Prints Google Benchmark's table. The result is checked before anything is timed.

#include <benchmark/benchmark.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "router/config/load.h"
#include "router/learning/choice.h"
#include "router/routing/router.h"
#include "router/signals/language.h"
#include "tests/router/decision/many_decisions.h"

namespace signalbox::routing {
namespace {

// Only keywords decide, so the vectors have no effect.
class NoEmbedder : public engine::TextEmbedder {
 public:
  int32_t dim() const override { return 1; }
  int32_t tokens_max() const override { return 512; }
  Result<void> embed(std::span<const std::string_view>, std::span<float> out) const override {
    std::fill(out.begin(), out.end(), 0.0f);
    return {};
  }
};

std::unique_ptr<const Router> default_router() {
  auto loaded = config::load(std::filesystem::path(SIGNALBOX_SOURCE_DIR) / "bench/keywords.yaml");
  SIGNALBOX_CHECK(loaded);
  auto router =
      Router::create(std::move(loaded->config), {.embedder = std::make_unique<NoEmbedder>()});
  SIGNALBOX_CHECK(router);
  return *std::move(router);
}

// A question of `bytes` bytes of plain text that ends with two keywords.
std::string body_of(size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += "please tell me more about this subject, in plain words. ";
  text += "Explain the proof of Fermat's Last Theorem step-by-step";
  json::Writer out;
  out.begin_object()
      .member("model", "auto")
      .member("temperature", 0.5)
      .key("messages")
      .begin_array();
  out.begin_object().member("role", "user").member("content", text).end_object();
  return out.end_array().end_object().take();
}

Result<Plan> route(const Router& router, std::string body) {
  SIGNALBOX_TRY(const request::ChatRequest request, request::ChatRequest::parse(std::move(body)));
  Evaluation evaluation = router.evaluate(request);
  SIGNALBOX_CHECK(evaluation.run_cheap());
  return evaluation.plan();
}

void BM_RouteByKeyword(benchmark::State& state) {
  static const auto router = default_router();
  const std::string body = body_of(static_cast<size_t>(state.range(0)));
  const auto plan = route(*router, body);
  SIGNALBOX_CHECK(plan && plan->decision == "math" && plan->model->name == "deepseek-v31");
  for (auto _ : state) benchmark::DoNotOptimize(route(*router, body));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * body.size()));
}
BENCHMARK(BM_RouteByKeyword)->Arg(0)->Arg(1000)->Arg(10'000)->Arg(100'000);

// 2,000 keywords; two of them occur at the end of the text.
std::unique_ptr<const Router> many_keywords() {
  std::string list;
  for (int i = 0; i < 2000; ++i)
    list += fmt::format("{}\"term{:x} of{}\"", i == 0 ? "" : ", ", i * 7919, i);
  auto loaded = config::parse(fmt::format(R"(version: v0.3
providers:
  defaults: {{default_model: m}}
  models: [{{name: m, backend_refs: [{{type: echo}}]}}]
routing:
  signals: {{keywords: [{{name: k, keywords: [{}]}}]}}
  decisions: [{{name: d, rules: {{type: keyword, name: k}}}}]
)",
                                          list),
                              "bench.yaml");
  SIGNALBOX_CHECK(loaded);
  auto router = Router::create(std::move(loaded->config), {});
  SIGNALBOX_CHECK(router);
  return *std::move(router);
}

void BM_Keywords(benchmark::State& state) {
  static const auto router = many_keywords();
  std::string text;
  while (text.size() < static_cast<size_t>(state.range(0)))
    text += "please tell me more about this subject, in plain words. ";
  text += "TERM1eef of1 and term3dde of2";
  json::Writer out;
  out.begin_object().member("model", "auto").key("messages").begin_array();
  out.begin_object().member("role", "user").member("content", text).end_object();
  const auto request = request::ChatRequest::parse(out.end_array().end_object().take());
  SIGNALBOX_CHECK(request);
  Evaluation once = router->evaluate(*request);
  SIGNALBOX_CHECK(once.run_cheap() && once.decision() != nullptr);
  SIGNALBOX_CHECK(once.matched().size() == 1);
  for (auto _ : state) {
    Evaluation evaluation = router->evaluate(*request);
    benchmark::DoNotOptimize(evaluation.run_cheap());
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
}
BENCHMARK(BM_Keywords)->Arg(32'768);

// 200 decisions of 6 conditions, with every signal available.
void BM_Decide(benchmark::State& state) {
  const auto strategy = static_cast<config::Routing::Strategy>(state.range(0));
  decision::ManyDecisions many(strategy);
  SIGNALBOX_CHECK(many.decide().decision == decision::ManyDecisions::kExpected);
  for (auto _ : state) benchmark::DoNotOptimize(many.decide());
}
BENCHMARK(BM_Decide)
    ->ArgName("strategy")
    ->Arg(static_cast<int64_t>(config::Routing::Strategy::kPriority))
    ->Arg(static_cast<int64_t>(config::Routing::Strategy::kFusion));

// The choice of linucb between two models with as many verdicts as are kept.
void BM_ChooseByFeatures(benchmark::State& state) {
  learning::Outcomes outcomes;
  learning::Features features;
  for (int i = 0; i < 250; ++i) {
    features.steps[1 + i % (learning::Features::kSize - 1)] = static_cast<uint8_t>(i % 9);
    outcomes.add("r/d", "large", learning::Verdict::kGoodFit, &features);
    outcomes.add("r/d", "small", learning::Verdict::kFailed, &features);
  }
  learning::Situation situation;
  situation.outcomes = &outcomes;
  learning::Rules rules;
  rules.adapts = true;
  rules.strategy = learning::Strategy::kLinUcb;
  const learning::Option options[] = {{"small", "small", {}}, {"large", "large", {}}};
  learning::Report report;
  const auto choose = [&] {
    return learning::choose(options, 0, "r/d", situation, rules, features, 1, report);
  };
  SIGNALBOX_CHECK(choose() == 1 && report.values[1].with_features == 250);
  for (auto _ : state) benchmark::DoNotOptimize(choose());
}
BENCHMARK(BM_ChooseByFeatures);

// A window of 1 KB, which a guard reads in 15 milliseconds.
void BM_UnsupportedLanguage(benchmark::State& state, std::string_view sentence, bool is_english) {
  const std::vector<std::string> supported{"en"};
  std::string text;
  while (text.size() < 1024) text += sentence;
  SIGNALBOX_CHECK(signals::unsupported_language(text, supported).empty() == is_english);
  for (auto _ : state) benchmark::DoNotOptimize(signals::unsupported_language(text, supported));
}
BENCHMARK_CAPTURE(BM_UnsupportedLanguage, English,
                  "please tell me more about this subject, in plain words. ", true);
BENCHMARK_CAPTURE(BM_UnsupportedLanguage, German,
                  "bitte erzähle mir mehr über dieses Thema, in einfachen Worten. ", false);
BENCHMARK_CAPTURE(BM_UnsupportedLanguage, Korean, "이 주제에 대해 쉬운 말로 더 이야기해 주세요. ",
                  false);

}  // namespace
}  // namespace signalbox::routing

BENCHMARK_MAIN();
