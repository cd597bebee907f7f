// An embedder behind a server with OpenAI's embeddings API.

#include "router/models/remote_embedder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>

#include "base/json.h"
#include "tests/router/net/http_site.h"

namespace signalbox::test {
namespace {

/// Embeds a text as (its length, 1); fails the first `failures` requests.
class EmbeddingSite {
 public:
  http::Task<> handle(http::Exchange exchange) {
    ++requests;
    http::Headers fields;
    fields.add("Content-Type", "application/json");
    key = std::string(exchange.request.headers.find("authorization").value_or(""));
    target = exchange.request.target;
    const bool fails = failures > 0 && failures-- > 0;
    const std::string body = fails ? "{}" : answer(exchange.request.body);
    const int code = fails ? status.load() : 200;
    co_await exchange.reply.send(code, fields, body);
  }

  std::string answer(const std::string& request) {
    const auto document = json::Document::parse(request).value();
    model = std::string(document.root().find("model")->text());
    std::string rows;
    for (const json::Value text : document.root().find("input")->items()) {
      rows +=
          fmt::format("{}{{\"embedding\":[{},1]}}", rows.empty() ? "" : ",", text.text().size());
    }
    return "{\"data\":[" + rows + "]}";
  }

  config::EmbeddingEndpoint endpoint() const {
    return {.base_url = fmt::format("http://127.0.0.1:{}/api/v1", site.port),
            .model = "small",
            .api_key_env = "SIGNALBOX_TEST_EMBEDDING_KEY",
            .timeout_seconds = 5,
            .max_retries = 2};
  }

  std::atomic<int> requests = 0, failures = 0, status = 503;
  std::string key, target, model;  // of the last request
  HttpSite site{[this](http::Exchange exchange) { return handle(std::move(exchange)); }};
};

class RemoteEmbedder : public testing::Test {
 protected:
  RemoteEmbedder() { ::setenv("SIGNALBOX_TEST_EMBEDDING_KEY", "secret", 1); }
  EmbeddingSite site_;
  const std::string_view texts_[2] = {"abc", "x"};
  std::vector<float> out_ = std::vector<float>(4);
};

TEST_F(RemoteEmbedder, sends_the_texts_and_normalises_the_vectors) {
  const auto embedder = models::open_remote_embedder(site_.endpoint());
  ASSERT_TRUE(embedder) << embedder.error().message;
  EXPECT_EQ((*embedder)->dim(), 2);
  EXPECT_EQ((*embedder)->text_model(), nullptr);
  ASSERT_TRUE((*embedder)->embed(texts_, out_));
  EXPECT_NEAR(out_[0], 3 / std::sqrt(10.0), 1e-6);
  EXPECT_NEAR(out_[2], 1 / std::sqrt(2.0), 1e-6);
  EXPECT_EQ(site_.target, "/api/v1/embeddings");
  EXPECT_EQ(site_.key, "Bearer secret");
  EXPECT_EQ(site_.model, "small");
  EXPECT_EQ(site_.requests, 2) << "one to learn the width";
}

TEST_F(RemoteEmbedder, retries_within_its_limits) {
  auto endpoint = site_.endpoint();
  endpoint.dimensions = 2;
  const auto embedder = models::open_remote_embedder(endpoint);
  ASSERT_TRUE(embedder);
  EXPECT_EQ(site_.requests, 0) << "the width is known";
  site_.failures = 2;
  EXPECT_TRUE((*embedder)->embed(texts_, out_));
  EXPECT_EQ(site_.requests, 3);
  site_.failures = 3;
  const auto failed = (*embedder)->embed(texts_, out_);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::kUpstream);
  EXPECT_NE(failed.error().message.find("returned status 503"), std::string::npos);
  site_.failures = 1;
  site_.status = 401;
  EXPECT_FALSE((*embedder)->embed(texts_, out_)) << "a refusal is final";
  EXPECT_EQ(site_.requests, 7);
  const engine::Patience late{.deadline = std::chrono::steady_clock::now()};
  EXPECT_EQ((*embedder)->embed_within(late, texts_, out_).error().code, Code::kDeadline);
  EXPECT_EQ(site_.requests, 7);
}

TEST_F(RemoteEmbedder, needs_its_key) {
  ::unsetenv("SIGNALBOX_TEST_EMBEDDING_KEY");
  EXPECT_EQ(models::open_remote_embedder(site_.endpoint()).error().message,
            "api_key_env: the variable SIGNALBOX_TEST_EMBEDDING_KEY is unset");
}

}  // namespace
}  // namespace signalbox::test
