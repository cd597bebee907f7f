// Tests the counters, their exposition to a scrape, and that docs/metrics.md lists exactly these
// metrics.

#include "router/observe/metrics.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <thread>

#include "router/observe/exposition.h"
#include "router/observe/meters.h"

namespace signalbox::observe {
namespace {

using std::chrono::milliseconds;

Vocabulary vocabulary() {
  static const int engine = 0;
  Vocabulary out;
  out.models = {{"small", "USD", "openai"}, {"large", "", "anthropic"}};
  out.decisions = {"math", "law"};
  out.signals = {{"keyword", {"proof"}}, {"domain", {"math", "law"}}};
  out.engines = {{&engine, "models/minilm"}};
  return out;
}

Account answered() {
  Account account;
  account.began = TimePoint(milliseconds(1000));
  account.understood = account.began + milliseconds(2);
  account.sent = account.understood;
  account.ended = account.began + milliseconds(100);
  account.signals = {{"keyword", account.began, account.began + milliseconds(1), false},
                     {"domain", account.began, account.understood, true}};
  account.matched = {{"keyword", {"proof"}}};
  account.decided = true;
  account.model = "small";
  account.decision = "math";
  account.confidence = 0.85;
  account.status = 200;
  account.ttft_s = 0.02;
  account.tpot_s = 0.003;
  account.path = "/v1/chat/completions";
  account.origin.model = "small-2024";
  account.tokens = Tokens{100, 0, 20};
  account.cost = 0.5;
  return account;
}

bool has_line(const std::string& text, const std::string& line) {
  if (("\n" + text).find("\n" + line + "\n") != std::string::npos) return true;
  ADD_FAILURE() << "no line " << line << " in\n" << text;
  return false;
}

TEST(Metrics, counts_a_request) {
  Metrics metrics;
  const Meters meters(metrics, vocabulary());
  {
    const Meters::AtModel at(meters, "small");
    has_line(metrics.text(), R"(llm_model_inflight_requests{model="small"} 1)");
  }
  meters.record(answered());
  const std::string text = metrics.text();
  for (const char* line : {
           R"(llm_model_requests_total{model="small",decision="math",status="200"} 1)",
           R"(llm_model_inflight_requests{model="small"} 0)",
           R"(llm_model_prompt_tokens_total{model="small"} 100)",
           R"(llm_model_completion_tokens_total{model="small"} 20)",
           R"(llm_model_tokens_total{model="small"} 120)",
           R"(llm_model_cost_total{model="small",currency="USD"} 0.5)",
           R"(llm_model_ttft_seconds_bucket{model="small",le="0.025"} 1)",
           R"(llm_model_ttft_seconds_bucket{model="small",le="0.01"} 0)",
           R"(llm_model_ttft_seconds_bucket{model="small",le="+Inf"} 1)",
           R"(llm_model_ttft_seconds_count{model="small"} 1)",
           R"(llm_signal_extraction_total{signal_type="keyword"} 1)",
           R"(llm_signal_match_total{signal_type="keyword",signal_name="proof"} 1)",
           R"(llm_signal_match_total{signal_type="domain",signal_name="law"} 0)",
           R"(signalbox_signal_errors_total{signal_type="domain"} 1)",
           R"(llm_decision_evaluation_total 1)",
           R"(llm_decision_match_total{decision_name="math"} 1)",
           R"(llm_model_routing_latency_seconds_count 1)",
       }) {
    has_line(text, line);
  }
  EXPECT_EQ(text.find(R"(llm_model_cost_total{model="large")"), std::string::npos);
}

TEST(Metrics, counts_spending_by_model_and_decision) {
  Metrics metrics;
  Vocabulary words = vocabulary();
  words.default_currency = "EUR";
  const Meters meters(metrics, words);
  Account account = answered();
  account.tokens = Tokens{100, 60, 20};
  account.cost_on_default = 2;
  meters.record(account);
  account.tokens.reset();
  account.repeated = Tokens{100, 0, 20};
  account.cost = 0;
  meters.record(account);
  account.repeated.reset();  // a reply without usage
  meters.record(account);
  account.tokens = Tokens{1, 0, 1};
  account.decision = "";
  account.cost = account.cost_on_default = 0.25;
  meters.record(account);
  const std::string text = metrics.text();
  for (const char* line : {
           R"(signalbox_metered_replies_total{model="small",decision="math"} 2)",
           R"(signalbox_tokens_total{model="small",decision="math",kind="prompt"} 40)",
           R"(signalbox_tokens_total{model="small",decision="math",kind="cached"} 60)",
           R"(signalbox_tokens_total{model="small",decision="math",kind="completion"} 20)",
           R"(signalbox_tokens_total{model="small",decision="math",kind="repeated"} 120)",
           R"(signalbox_cost_total{model="small",decision="math",currency="USD"} 0.5)",
           R"(signalbox_cost_on_default_total{model="small",decision="math",currency="EUR"} 4)",
           R"(signalbox_cost_total{model="small",decision="none",currency="USD"} 0.25)",
           R"(signalbox_cost_on_default_total{model="small",decision="none",currency="USD"} 0.25)",
       }) {
    has_line(text, line);
  }
}

constexpr std::string_view kOperations = "gen_ai_client_operation_duration_seconds_count";

/// The labels of the calls by OpenTelemetry's conventions, with their numbers.
std::vector<std::string> operations_in(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = text.find(kOperations); at != std::string::npos;
       at = text.find(kOperations, at + 1)) {
    const size_t begin = at + kOperations.size();
    out.push_back(text.substr(begin, text.find('\n', begin) - begin));
  }
  return out;
}

TEST(Metrics, counts_calls_by_the_conventions_of_opentelemetry) {
  Metrics metrics;
  const Meters meters(metrics, vocabulary());
  meters.record(answered());
  const std::string text = metrics.text();
  const std::string of_model = R"(gen_ai_request_model="small",gen_ai_response_model="small-2024")";
  const std::string chat = R"({gen_ai_operation_name="chat",gen_ai_provider_name="openai",)";
  for (const std::string& line : {
           "gen_ai_client_token_usage_sum" + chat + R"(gen_ai_token_type="input",)" + of_model +
               "} 100",
           "gen_ai_client_token_usage_bucket" + chat + R"(gen_ai_token_type="output",)" + of_model +
               R"(,le="16"} 0)",
           "gen_ai_client_token_usage_bucket" + chat + R"(gen_ai_token_type="output",)" + of_model +
               R"(,le="64"} 1)",
           "gen_ai_client_operation_duration_seconds_bucket" + chat + of_model +
               R"(,error_type="",le="0.16"} 1)",
           "gen_ai_client_operation_duration_seconds_bucket" + chat + of_model +
               R"(,error_type="",le="0.08"} 0)",
           "gen_ai_server_time_to_first_token_seconds_bucket" + chat + of_model +
               R"(,le="0.02"} 1)",
           "gen_ai_server_time_per_output_token_seconds_sum" + chat + of_model + "} 0.003",
       })
    has_line(text, line);
}

TEST(Metrics, counts_failed_calls_with_their_error_and_without_the_time_of_a_token) {
  Metrics metrics;
  const Meters meters(metrics, vocabulary());
  Account failed = answered();
  failed.error = "upstream_error";
  failed.origin = {};
  failed.tokens.reset();
  meters.record(failed);
  EXPECT_EQ(
      operations_in(metrics.text()),
      std::vector<std::string>{R"({gen_ai_operation_name="chat",gen_ai_provider_name="openai",)"
                               R"(gen_ai_request_model="small",gen_ai_response_model="",)"
                               R"(error_type="upstream_error"} 1)"});
  EXPECT_EQ(metrics.text().find("gen_ai_server"), std::string::npos);
  EXPECT_EQ(metrics.text().find("gen_ai_client_token_usage"), std::string::npos);
}

TEST(Metrics, counts_no_call_for_a_request_that_no_server_answered) {
  Metrics metrics;
  const Meters meters(metrics, vocabulary());
  Account cached = answered();
  cached.sent = cached.began;
  cached.tokens.reset();
  cached.repeated = Tokens{100, 0, 20};
  meters.record(cached);
  Account listing = answered();
  listing.path = "/v1/files";
  meters.record(listing);
  EXPECT_EQ(metrics.text().find("gen_ai_"), std::string::npos);
}

TEST(Metrics, counts_each_call_of_several_models_and_those_of_shadows) {
  Metrics metrics;
  const Meters meters(metrics, vocabulary());
  Account account = answered();
  account.calls.resize(2);
  account.calls[0].model = "small";
  account.calls[0].error = "timeout";
  account.calls[1].model = "large";
  account.calls[1].origin.model = "large-1";
  account.calls[1].ttft_s = 0.02;
  meters.record(account);
  account.shadow.emplace();
  account.shadow->model = "large";
  account.shadow->origin.model = "large-1";
  meters.record_shadow(account);
  EXPECT_EQ(operations_in(metrics.text()),
            (std::vector<std::string>{
                R"({gen_ai_operation_name="chat",gen_ai_provider_name="anthropic",)"
                R"(gen_ai_request_model="large",gen_ai_response_model="large-1",error_type=""} 2)",
                R"({gen_ai_operation_name="chat",gen_ai_provider_name="openai",)"
                R"(gen_ai_request_model="small",gen_ai_response_model="",error_type="timeout"} 1)",
            }));
  has_line(metrics.text(),
           R"(gen_ai_server_time_to_first_token_seconds_count{gen_ai_operation_name="chat",)"
           R"(gen_ai_provider_name="anthropic",gen_ai_request_model="large",)"
           R"(gen_ai_response_model="large-1"} 1)");
}

TEST(Metrics, bounds_the_models_that_a_server_names_also_across_reloads) {
  Metrics metrics;
  Account account = answered();
  for (int i = 0; i < 100; ++i) {
    const Meters meters(metrics, vocabulary());
    account.origin.model = fmt::format("small-{}", i);
    meters.record(account);
  }
  const std::vector<std::string> found = operations_in(metrics.text());
  EXPECT_EQ(found.size(), ResponseModels::kNamesMax + 1);
  EXPECT_TRUE(std::ranges::any_of(found, [](const std::string& line) {
    return line.find(R"(gen_ai_response_model="other",error_type=""} 92)") != line.npos;
  }));
}

TEST(ResponseModels, bounds_the_models_of_successive_configurations) {
  ResponseModels models;
  for (size_t i = 0; i < ResponseModels::kModelsMax; ++i)
    EXPECT_EQ(models.label(fmt::format("m{}", i), "a"), "a");
  EXPECT_EQ(models.label("one more", "a"), "other");
  EXPECT_EQ(models.label("one more", "one more"), "one more");
  EXPECT_EQ(models.label("one more", ""), "");
  EXPECT_EQ(models.label("m1", "b"), "b");
}

TEST(Metrics, names_the_operation_of_each_api) {
  const std::pair<std::string_view, std::string_view> kPaths[] = {
      {"/v1/chat/completions", "chat"},
      {"/v1/messages", "chat"},
      {"/v1/responses", "chat"},
      {"/v1/completions", "text_completion"},
      {"/v1/embeddings", "embeddings"},
      {"/v1/images/generations", "generate_content"},
      {"/v1/audio/speech", "generate_content"},
      {"/v1/rerank", "rerank"},
      {"/rerank", "rerank"},
      {"/v1/moderations", "moderation"},
      {"/v1/messages/count_tokens", ""},
      {"/v1/batches", ""}};
  for (const auto& [path, operation] : kPaths) EXPECT_EQ(operation_of(path), operation) << path;
}

TEST(Metrics, shows_no_row_of_a_table_that_was_removed) {
  Metrics metrics;
  metrics.worker_fit.set({{{"small", "a"}, 1}, {{"small", "b"}, 0}});
  has_line(metrics.text(), R"(signalbox_worker_fit{model="small",worker="b"} 0)");
  metrics.worker_fit.set({{{"small", "a"}, 0}});
  has_line(metrics.text(), R"(signalbox_worker_fit{model="small",worker="a"} 0)");
  EXPECT_EQ(metrics.text().find("worker=\"b\""), std::string::npos);
}

TEST(Metrics, never_takes_a_label_from_a_client) {
  Metrics metrics;
  const Meters meters(metrics, vocabulary());
  Account account = answered();
  account.model = "made up";
  account.decision = "made up, too";
  account.matched = {{"keyword", {"not configured"}}, {"nothing", {"x"}}};
  account.status = 299;
  meters.record(account);
  const std::string text = metrics.text();
  EXPECT_EQ(text.find("made up"), std::string::npos) << text;
  EXPECT_EQ(text.find("not configured"), std::string::npos);
  has_line(text, R"(llm_model_requests_total{model="unknown",decision="none",status="2xx"} 1)");
}

TEST(Metrics, bounds_the_series_of_a_name) {
  std::vector<const FamilyBase*> all;
  Family<Counter> family(all, "a_total", "a", {"name"});
  for (int i = 0; i < 5000; ++i) family.with({std::to_string(i)}).add();
  EXPECT_EQ(family.series().size(), Family<Counter>::kSeriesMax + 1);
  EXPECT_EQ(family.with({"other"}).value(), 3000);
  EXPECT_EQ(&family.with({"0"}), &family.with({"0"}));
}

TEST(Metrics, counts_every_observation_of_many_threads) {
  Metrics metrics;
  const Meters meters(metrics, vocabulary());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        meters.record(answered());
        if (i % 100 == 0) static_cast<void>(metrics.text());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  has_line(metrics.text(),
           R"(llm_model_requests_total{model="small",decision="math",status="200"} 2000)");
  has_line(metrics.text(), R"(llm_model_ttft_seconds_count{model="small"} 2000)");
}

TEST(Metrics, escapes_any_name) {
  std::vector<const FamilyBase*> all;
  Family<Counter> family(all, "a_total", "a", {"name"});
  family.with({"quote\" back\\ line\n \xFF"}).add();
  has_line(expose(read(all)), "a_total{name=\"quote\\\" back\\\\ line\\n \xEF\xBF\xBD\"} 1");
}

// Reads lines such as "| `name` | counter | `a` `b` | ... |".
std::set<std::string> documented() {
  std::ifstream file(std::string(SIGNALBOX_SOURCE_DIR) + "/docs/metrics.md");
  std::set<std::string> out;
  const std::regex row(R"(^\| `([a-z_]+)` \| (counter|gauge|histogram) \| ((?:`[a-z_]+` ?)*)\|.*)");
  std::smatch found;
  for (std::string line; std::getline(file, line);) {
    if (std::regex_match(line, found, row))
      out.insert(found[1].str() + " " + found[2].str() + " " + found[3].str());
  }
  return out;
}

TEST(Metrics, the_documentation_lists_every_metric) {
  const Metrics metrics;
  std::set<std::string> built;
  for (const FamilyBase* family : metrics.families()) {
    std::string row = std::string(family->name()) + " ";
    row += family->kind() == Kind::kCounter ? "counter "
           : family->kind() == Kind::kGauge ? "gauge "
                                            : "histogram ";
    for (const std::string_view label : family->labels()) row += fmt::format("`{}` ", label);
    built.insert(row);
  }
  EXPECT_EQ(documented(), built);
}

}  // namespace
}  // namespace signalbox::observe
