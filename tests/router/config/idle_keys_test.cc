// Tests that each key without an effect gives a notice, although other plugins or backends read it.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>

#include "router/config/load.h"

namespace signalbox::config {
namespace {

TEST(IdleKeys, are_reported_beside_a_plugin_or_backend_that_does_not_read_them) {
  const std::string text = R"(version: v0.3
providers: {defaults: {default_model: a}, models: [{name: a, backend_refs: [{type: echo}]}]}
routing:
  decisions:
    - name: x
      plugins:
        - type: rag
          configuration:
            backend: hybrid
            backend_config:
              collection: docs
              primary: openai
              primary_config: {vector_store_id: v, api_key: k, headers: {a: b}}
              fallback: mcp
              fallback_config: {endpoint: "http://b", server_name: s, tool_name: t, filter: {a: 1}}
        - {type: response_cache, configuration: {request_controls: {max_ttl_seconds: 1, max_target_tokens: 2}}}
        - type: context_compression
          configuration:
            request_controls: {max_ttl_seconds: 1, max_target_tokens: 2}
            targets: {tool_outputs: {min_tokens: 9, target_tokens: 3}, rag: {min_tokens: 0}, memory: {target_tokens: 3}}
            scoring: {embedding_model_ref: e}
    - name: y
      plugins:
        - {type: rag, configuration: {backend: vectorstore, cache_results: true, backend_config: {vector_store_id: v}}}
global: {stores: {vector_store: {enabled: true, backend_type: memory}}}
)";
  std::string expected;
  const auto expect = [&](int line, std::string_view key, std::string_view consequence) {
    expected +=
        fmt::format("f.yaml:{}: routing.decisions{}: has no effect: {} (docs/upstream.md)\n", line,
                    key, consequence);
  };
  const std::string rag = "[0].plugins[0].configuration.backend_config.";
  expect(11, rag + "collection", "the backend hybrid does not read it");
  expect(13, rag + "primary_config.headers", "the backend openai does not read it");
  expect(15, rag + "fallback_config.filter", "the backend mcp does not read it");
  expect(16, "[0].plugins[1].configuration.request_controls.max_target_tokens",
         "only context_compression has a target");
  expect(19, "[0].plugins[2].configuration.request_controls.max_ttl_seconds",
         "only response_cache has a lifetime");
  expect(20, "[0].plugins[2].configuration.targets.memory.target_tokens", "the text is kept whole");
  expect(21, "[0].plugins[2].configuration.scoring.embedding_model_ref", "BM25 ranks the passages");
  expect(24, "[1].plugins[0].configuration.cache_results", "the router's own search is not cached");
  const auto loaded = parse(text, "f.yaml");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(fmt::format("{}\n", fmt::join(loaded->notices, "\n")), expected);
}

}  // namespace
}  // namespace signalbox::config
