// Tests that the echo backend meets the expectations of OpenAI's clients, and how backends are
// reported.

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>

#include "base/json.h"
#include "router/upstream/backends.h"
#include "router/upstream/echo_backend.h"
#include "router/upstream/provider.h"

namespace signalbox::upstream {
namespace {

struct WholeReply {
  int status = 0;
  std::string content_type;
  std::vector<std::string> pieces;

  std::string text() const {
    std::string out;
    for (const auto& piece : pieces) out += piece;
    return out;
  }
};

http::Task<WholeReply> pull(const Backend& backend, std::string body) {
  http::Headers headers;
  http::Interrupt interrupt;
  const Call call{"/v1/chat/completions", headers, headers, "id", body, interrupt};
  auto answer = co_await backend.call(call);
  WholeReply out;
  out.status = (*answer)->head().status;
  out.content_type = std::string(*(*answer)->head().headers.find("content-type"));
  for (bool last = false; !last;) {
    const auto piece = co_await (*answer)->next();
    out.pieces.emplace_back(piece->bytes);
    last = piece->last;
  }
  co_return out;
}

WholeReply ask(const Backend& backend, std::string body) {
  http::asio::io_context loop;
  auto reply = http::asio::co_spawn(loop, pull(backend, std::move(body)), http::asio::use_future);
  loop.run();
  return reply.get();
}

TEST(EchoBackend, answers_like_a_model_server_and_repeats_the_request) {
  const EchoBackend backend("phi4");
  const WholeReply reply =
      ask(backend, R"({"model":"microsoft/phi-4","reasoning_effort":"high","messages":[
      {"role":"system","content":"Be brief."},{"role":"user","content":[{"type":"text","text":"Say \"hi\""}]}]})");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.content_type, "application/json");
  const auto document = json::Document::parse(reply.text());
  ASSERT_TRUE(document) << document.error().message;
  const auto root = document->root();
  EXPECT_EQ(root.find("object")->text(), "chat.completion");
  EXPECT_EQ(root.find("model")->text(), "microsoft/phi-4");
  const auto choice = *root.find("choices")->items().begin();
  EXPECT_EQ(choice.find("finish_reason")->text(), "stop");
  EXPECT_EQ(choice.find("message")->find("role")->text(), "assistant");
  EXPECT_EQ(choice.find("message")->find("content")->text(),
            "Echo, standing in for phi4. I was asked as \"microsoft/phi-4\", with 2 messages, a "
            "system prompt and "
            "reasoning_effort \"high\". You said: Say \"hi\"");
  EXPECT_EQ(root.find("usage")->find("prompt_tokens")->integer().value(), 4);
}

TEST(EchoBackend, streams_the_same_text_in_pieces) {
  const EchoBackend backend("m");
  const WholeReply reply =
      ask(backend, R"({"model":"m","stream":true,"stream_options":{"include_usage":true},
      "messages":[{"role":"user","content":"hello"}]})");
  EXPECT_EQ(reply.content_type, "text/event-stream");
  ASSERT_GT(reply.pieces.size(), 6U);
  std::string content, finish;
  int64_t usage = 0;
  for (size_t i = 0; i + 1 < reply.pieces.size(); ++i) {
    const std::string& piece = reply.pieces[i];
    ASSERT_TRUE(piece.starts_with("data: ") && piece.ends_with("\n\n"));
    const auto document = json::Document::parse(piece.substr(6));
    ASSERT_TRUE(document) << piece;
    const auto root = document->root();
    EXPECT_EQ(root.find("object")->text(), "chat.completion.chunk");
    for (const auto choice : root.find("choices")->items()) {
      if (const auto text = choice.find("delta")->find("content")) content += text->text();
      if (choice.find("finish_reason")->is_string()) finish = choice.find("finish_reason")->text();
    }
    if (const auto total = root.find("usage"); total && total->is_object()) {
      usage = total->find("total_tokens")->integer().value();
      EXPECT_EQ(root.find("choices")->raw(), "[]");
    }
  }
  EXPECT_EQ(reply.pieces.back(), "data: [DONE]\n\n");
  EXPECT_EQ(content,
            "Echo, standing in for m. I was asked as \"m\", with 1 message, no system prompt and "
            "no reasoning "
            "parameters. You said: hello");
  EXPECT_EQ(finish, "stop");
  EXPECT_GT(usage, 1);
}

TEST(EchoBackend, shortens_a_long_text_between_characters) {
  const EchoBackend backend("m");
  std::string text;
  for (int i = 0; i < 500; ++i) text += "\xc3\xa9";
  const WholeReply reply =
      ask(backend, R"({"model":"m","messages":[{"role":"user","content":"x)" + text + "\"}]}");
  const auto document = json::Document::parse(reply.text());
  ASSERT_TRUE(document);
  const auto choice = *document->root().find("choices")->items().begin();
  EXPECT_TRUE(choice.find("message")->find("content")->text().ends_with("\xc3\xa9..."));
}

TEST(EchoBackend, refuses_bodies_that_are_not_chat_requests) {
  const EchoBackend backend("m");
  for (const char* body :
       {"", "[]", "{}", R"({"model":1,"messages":[]})", R"({"model":"m","messages":{}})", "\xff"}) {
    const WholeReply reply = ask(backend, body);
    EXPECT_EQ(reply.status, 400) << body;
    EXPECT_TRUE(json::Document::parse(reply.text())->root().find("error")) << body;
  }
}

TEST(Backends, the_provider_is_the_one_whose_domain_has_the_host) {
  const std::pair<std::string_view, std::string_view> kHosts[] = {
      {"api.openai.com", "openai"},
      {"API.Anthropic.com", "anthropic"},
      {"mine.openai.azure.com", "azure.ai.openai"},
      {"bedrock-runtime.eu-west-1.amazonaws.com", "aws.bedrock"},
      {"ec2-1-2-3-4.compute.amazonaws.com", "openai"},
      {"europe-west4-aiplatform.googleapis.com", "gcp.vertex_ai"},
      {"generativelanguage.googleapis.com", "gcp.gemini"},
      {"api.mistral.ai", "mistral_ai"},
      {"notmistral.ai", "openai"},
      {"api.x.ai", "x_ai"},
      {"10.0.0.1", "openai"},
      {"", "openai"}};
  config::Model model;
  EXPECT_EQ(provider_of(model), "openai");
  model.backend_refs.emplace_back();
  for (const auto& [host, provider] : kHosts) {
    model.backend_refs.front().host = host;
    EXPECT_EQ(provider_of(model), provider) << host;
  }
  model.api_format = config::Model::ApiFormat::kAnthropic;
  EXPECT_EQ(provider_of(model), "anthropic");
  model.backend_refs.front().type = "chat";
  EXPECT_EQ(provider_of(model), "anthropic");
  model.backend_refs.front().type = "vllm";
  EXPECT_EQ(provider_of(model), "vllm");
  model.backend_refs.front().host = "api.mistral.ai";
  EXPECT_EQ(provider_of(model), "mistral_ai");
  model.backend_refs.front().type = "echo";
  EXPECT_EQ(provider_of(model), "signalbox");
}

TEST(Backends, a_notice_names_a_key_that_no_header_can_carry) {
  config::Config config;
  config::Model model;
  model.name = "m";
  config::BackendRef ref;
  ref.name = "cloud";
  ref.tls = true;
  ref.api_key_env = "SIGNALBOX_TEST_BROKEN_KEY";
  model.backend_refs.push_back(ref);
  config.providers.models.push_back(model);
  Fleet fleet;
  EXPECT_TRUE(Backends(config, fleet).notices().empty()) << "reading the file gives this notice";
  setenv("SIGNALBOX_TEST_BROKEN_KEY", "a\nb", 1);
  const Backends backends(config, fleet);
  unsetenv("SIGNALBOX_TEST_BROKEN_KEY");
  ASSERT_EQ(backends.notices().size(), 1U);
  EXPECT_EQ(
      backends.notices()[0],
      "model \"m\": backend \"cloud\": the environment variable "
      "SIGNALBOX_TEST_BROKEN_KEY holds blanks or control characters; requests are sent without "
      "a key");
}

}  // namespace
}  // namespace signalbox::upstream
