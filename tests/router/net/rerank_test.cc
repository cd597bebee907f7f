// The rerank API as clients use it, with a model without a network.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "router/config/load.h"
#include "router/daemon/serve.h"
#include "tests/router/fake_classifier.h"
#include "tests/router/net/gateway.h"
#include "tests/router/net/json_member.h"

namespace signalbox::test {
namespace {

using daemon::Daemon;
using engine::HeadKind;

constexpr std::string_view kRerankHead = R"(
version: v0.3
listeners:
  - {name: http, address: 127.0.0.1, port: 0, timeout: 20s}
providers:
  defaults: {default_model: general}
  models: [{name: general, backend_refs: [{name: echo, type: echo}]}]
routing: {}
global:
  services:
    management_api: {bind_address: 127.0.0.1, port: 0}
)";

/// A reranker whose raw score is the number of the pair's letters that the query contains.
class FakeReranker : public FakeClassifier {
 public:
  FakeReranker()
      : FakeClassifier({"relevance"}, HeadKind::kSequence, false, engine::Scores::kSigmoid) {}
  Result<std::vector<engine::Answer>> answer(std::span<const engine::Input> inputs) const override {
    std::vector<engine::Answer> out;
    texts_read += inputs.size();
    for (const engine::Input& input : inputs) {
      const auto known = [&](char c) { return input.text.find(c) != std::string_view::npos; };
      EXPECT_TRUE(input.raw);
      out.emplace_back().scores = {static_cast<float>(std::ranges::count_if(*input.pair, known)) -
                                   2};
    }
    return out;
  }
  Result<bool> is_cut(const engine::Input& input) const override { return input.pair->size() > 20; }

  static inline std::atomic<size_t> texts_read = 0;
};

std::unique_ptr<Daemon> start_with_reranker(const std::string& catalog) {
  auto loaded = config::parse(std::string(kRerankHead) + catalog, "test.yaml");
  if (!loaded) {
    ADD_FAILURE() << loaded.error().message;
    return nullptr;
  }
  auto daemon = Daemon::start(std::move(loaded->config), [](const config::Config&) {
    models::Models models;
    models.open = [](const std::string&) -> Result<models::ModelCache::Model> {
      return std::make_shared<const FakeReranker>();
    };
    return Result<models::Models>(std::move(models));
  });
  if (!daemon) ADD_FAILURE() << daemon.error().message;
  return daemon ? std::move(*daemon) : nullptr;
}

class Rerank : public testing::Test {
 protected:
  Reply ask(std::string_view path, std::string_view body,
            std::string_view listener = "management") const {
    Wire client = Wire::connect(daemon_->port(listener));
    client.send(post(path, body));
    return client.read_reply();
  }

  const std::unique_ptr<Daemon> daemon_ =
      start_with_reranker("  model_catalog: {system: {reranker: /tmp}}\n");
};

TEST_F(Rerank, answers_like_cohere_and_jina_on_both_listeners) {
  for (const char* listener : {"management", "http"}) {
    const Reply reply =
        ask("/v1/rerank",
            R"({"model":"tmp","query":"abc","documents":["xa",{"text":"abc"},"ab"],"top_n":2})",
            listener);
    ASSERT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(member(reply.body, "model"), "tmp");
    EXPECT_EQ(member(reply.body, "results.0.index"), "1");
    EXPECT_EQ(member(reply.body, "results.0.relevance_score"), "0.7310586");
    EXPECT_EQ(member(reply.body, "results.0.document"), "none");
    EXPECT_EQ(member(reply.body, "results.1.index"), "2");
    EXPECT_EQ(member(reply.body, "results.1.relevance_score"), "0.5");
    EXPECT_EQ(member(reply.body, "results.2"), "none");
    const Reply texts = ask(
        "/v1/rerank", R"({"query":"a","documents":["b","a"],"return_documents":true})", listener);
    EXPECT_EQ(member(texts.body, "results.0.document.text"), "a");
    EXPECT_EQ(member(texts.body, "results.1.document.text"), "b");
    EXPECT_EQ(ask("/v2/rerank", R"({"query":"a","documents":["b"]})", listener).status, 200);
  }
}

TEST_F(Rerank, answers_like_text_embeddings_inference) {
  const Reply reply = ask(
      "/rerank", R"({"query":"abc","texts":["xa","abc"],"raw_scores":true,"return_text":true})");
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(member(reply.body, "0.index"), "1");
  EXPECT_EQ(member(reply.body, "0.score"), "1");
  EXPECT_EQ(member(reply.body, "0.text"), "abc");
  EXPECT_EQ(member(reply.body, "1.score"), "-1");
}

TEST_F(Rerank, reads_a_long_text_in_windows_and_reports_one_that_is_too_long) {
  const std::string tail = std::string(1000, 'x') + "abc";  // the last of three windows has letters
  const Reply found = ask("/rerank", R"({"query":"abc","texts":["b",")" + tail +
                                         R"("],"raw_scores":true,"truncate":false})");
  ASSERT_EQ(found.status, 200) << found.body;
  EXPECT_EQ(member(found.body, "0.index"), "1");
  EXPECT_EQ(member(found.body, "0.score"), "1");
  const std::string lengthy(40'000, 'a');  // more windows than a document may have
  const std::string texts = R"({"query":"a","texts":["b",")" + lengthy + R"("])";
  EXPECT_EQ(ask("/rerank", texts + "}").status, 200);
  const size_t before = FakeReranker::texts_read;
  const Reply refused = ask("/rerank", texts + R"(,"truncate":false})", "http");
  EXPECT_EQ(refused.status, 413);
  EXPECT_NE(refused.body.find("texts[1]: with the query"), std::string::npos) << refused.body;
  const std::string unrelated(40'000, 'x');  // before a text with a greater score
  const Reply first = ask("/rerank", R"({"query":"a","texts":[")" + unrelated + R"(",")" + lengthy +
                                         R"("],"truncate":false})");
  EXPECT_EQ(first.status, 413);
  EXPECT_NE(first.body.find("texts[0]: with the query"), std::string::npos) << first.body;
  EXPECT_EQ(FakeReranker::texts_read, before) << "the model runs only for texts that it can read";
  const Reply warned =
      ask("/v1/rerank", R"({"query":"a","documents":["b",")" + lengthy + R"("],"top_n":1})");
  EXPECT_EQ(member(warned.body, "meta.warnings.0"),
            "1 of 2 documents was not read completely with the query; the model reads a query of "
            "256 tokens and 64 windows of a document");
  EXPECT_EQ(member(ask("/v1/rerank", R"({"query":"a","documents":["b"]})").body, "meta"), "none");
}

TEST_F(Rerank, errors_name_the_place_in_the_request) {
  std::string many;
  for (int i = 0; i < 1001; ++i) many += i == 0 ? "\"x\"" : ",\"x\"";
  const std::string huge(100'001, 'x');
  const struct {
    std::string body, message;
  } cases[] = {
      {R"({"documents":["a"]})", "query: missing"},
      {R"({"query":"a"})", "documents: expected an array"},
      {R"({"query":"a","documents":[]})", "documents: must not be empty"},
      {R"({"query":"a","documents":["b",7]})", "documents[1]: expected a non-empty string"},
      {R"({"query":"a","documents":[{"title":"b"}]})", "documents[0]: expected a non-empty string"},
      {R"({"query":"a","documents":["b"],"top_n":-1})", "top_n: expected an integer"},
      {R"({"query":"a","documents":["b"],"return_documents":1})",
       "return_documents: expected true"},
      {R"({"query":"a","documents":[)" + many + "]}", "documents: at most 1000 texts"},
      {R"({"query":"a","documents":[")" + huge + "\"]}", "documents[0]: at most 100000 characters"},
      {R"({"query":")" + huge + R"(","documents":["b"]})", "query: at most 100000 characters"},
  };
  for (const auto& [body, message] : cases) {
    const Reply reply = ask("/v1/rerank", body);
    EXPECT_EQ(reply.status, 400) << message;
    EXPECT_NE(reply.body.find(message), std::string::npos) << message << "\n" << reply.body;
  }
  EXPECT_EQ(ask("/rerank", R"({"query":"a","texts":[{"text":"b"}]})").status, 400);
  const auto from = [&](const char* side) {
    return ask("/rerank",
               fmt::format(R"({{"query":"a","texts":["b"],"truncation_direction":{}}})", side))
        .status;
  };
  EXPECT_EQ(from("\"Right\""), 200);
  EXPECT_EQ(from("null"), 200);
  EXPECT_EQ(from("\"Left\""), 400);
  EXPECT_EQ(from("1"), 400);
  EXPECT_EQ(ask("/v1/rerank", R"({"model":"x","query":"a","documents":["b"]})").status, 404);
}

TEST(RerankWithoutModel, names_the_setting_that_is_missing) {
  const auto daemon = start_with_reranker("");
  Wire client = Wire::connect(daemon->port("management"));
  client.send(post("/v1/rerank", R"({"query":"a","documents":["b"]})"));
  const Reply reply = client.read_reply();
  EXPECT_EQ(reply.status, 503);
  EXPECT_NE(reply.body.find("set global.model_catalog.system.reranker"), std::string::npos);
}

}  // namespace
}  // namespace signalbox::test
