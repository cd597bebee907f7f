// Feeds arbitrary bytes as a result of a tool in each of the three APIs. The first bytes choose the
// sizes. A JSON must stay a JSON, a request a request, and nothing may get longer.

#include <cstdint>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "router/compress/excerpt.h"
#include "router/plugins/context_compression/context_compression.h"
#include "router/request/request_text.h"
#include "router/splice/edit.h"

namespace {

using namespace signalbox;

void check_form(const plugins::CompressedContext& out, const json::Document& document) {
  const std::string shorter = splice::apply(document.source(), out.edits);
  SIGNALBOX_CHECK(shorter.size() <= document.source().size());
  SIGNALBOX_CHECK(json::Document::parse(shorter).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::string_view question = text.substr(text.size() - std::min<size_t>(text.size(), 30));
  const size_t bytes_max = 16 + data[0];
  const compress::Excerpt excerpt(text, question, bytes_max);
  const std::string shorter = excerpt.shortened(bytes_max);
  SIGNALBOX_CHECK(shorter.size() <= text.size());
  if (request::json_within(text)) SIGNALBOX_CHECK(request::json_within(shorter).has_value());

  config::ContextCompressionPlugin plugin;
  plugin.targets.tool_outputs.min_tokens = 40;
  plugin.targets.tool_outputs.target_tokens = 20;
  if (data[1] % 2 == 1) plugin.budget.target_tokens = 100;
  const std::string quoted = json::quote(text);
  const std::pair<std::optional<request::Api>, std::string> forms[] = {
      {std::nullopt, fmt::format(R"({{"messages":[{{"role":"tool","content":{}}},
{{"role":"user","content":"why?"}}]}})",
                                 quoted)},
      {request::Api::kMessages,
       fmt::format(
           R"({{"messages":[{{"role":"user","content":[{{"type":"tool_result","content":{}}}]}},
{{"role":"user","content":"why?"}}]}})",
           quoted)},
      {request::Api::kResponses,
       fmt::format(R"({{"input":[{{"type":"function_call_output","output":{}}},
{{"role":"user","content":"why?"}}]}})",
                   quoted)},
  };
  for (const auto& [api, body] : forms) {
    const auto document = json::Document::parse(body);
    SIGNALBOX_CHECK(document.has_value());
    check_form(plugins::compress_context(plugin, {}, "", *document, api, question), *document);
  }
  // The bytes themselves as a request: whatever its form, it must come through.
  const auto document = json::Document::parse(std::string(text));
  if (!document) return 0;
  for (const auto& [api, body] : forms)
    check_form(plugins::compress_context(plugin, {}, "", *document, api, question), *document);
  return 0;
}
