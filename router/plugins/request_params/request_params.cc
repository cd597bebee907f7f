// All occurrences of a repeated member are checked, because the server may use any of them.

#include "router/plugins/request_params/request_params.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "router/plugins/server_family.h"

namespace signalbox::plugins {
namespace {

constexpr auto kKnown = std::to_array<std::string_view>({
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "modalities",
    "model",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
    "web_search_options",
});

// Members of the other APIs, with the names of a chat completion for them.
struct NativeParam {
  std::string_view name;
  std::array<std::string_view, 2> chat = {};
};

constexpr auto kMessagesParams = std::to_array<NativeParam>({
    {"cache_control"},
    {"container"},
    {"context_management"},
    {"fallbacks"},
    {"inference_geo"},
    {"max_tokens"},
    {"mcp_servers"},
    {"messages"},
    {"metadata", {"user"}},
    {"model"},
    {"output_config", {"response_format", "reasoning_effort"}},
    {"output_format", {"response_format"}},
    {"service_tier"},
    {"speed"},
    {"stop_sequences", {"stop"}},
    {"stream"},
    {"system"},
    {"temperature"},
    {"thinking", {"reasoning_effort"}},
    {"tool_choice"},
    {"tools"},
    {"top_k"},
    {"top_p"},
});

constexpr auto kResponsesParams = std::to_array<NativeParam>({
    {"background"},
    {"client_metadata"},
    {"context_management"},
    {"conversation"},
    {"include"},
    {"input"},
    {"instructions"},
    {"max_output_tokens", {"max_tokens", "max_completion_tokens"}},
    {"max_tool_calls"},
    {"metadata"},
    {"model"},
    {"moderation"},
    {"parallel_tool_calls"},
    {"previous_response_id"},
    {"prompt"},
    {"prompt_cache_key"},
    {"prompt_cache_options"},
    {"prompt_cache_retention"},
    {"reasoning", {"reasoning_effort"}},
    {"safety_identifier"},
    {"service_tier"},
    {"store"},
    {"stream"},
    {"stream_options"},
    {"temperature"},
    {"text", {"response_format", "verbosity"}},
    {"tool_choice"},
    {"tools"},
    {"top_logprobs"},
    {"top_p"},
    {"truncation"},
    {"user"},
});

constexpr std::array<std::string_view, 2> kTokenBounds = {"max_completion_tokens", "max_tokens"};

template <class List>
bool holds(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool is_essential(std::string_view name) {
  return name == "model" || name == "messages";
}

// Limits the parameter to `bound`. Returns whether the request has it; null counts as absent.
bool bound_param(std::string_view name, uint32_t bound, splice::ObjectEditor& body) {
  bool is_present = false;
  for (const json::Value& value : body.values(name)) {
    if (value.is_null()) continue;
    is_present = true;
    const auto requested = value.integer();
    if (!requested || *requested < 0 || *requested > int64_t{bound}) {
      body.set(name, std::to_string(bound));
      return true;
    }
  }
  return is_present;
}

void remove_params(const config::RequestParamsPlugin& plugin, const config::Model& model,
                   json::Value request, splice::ObjectEditor& body) {
  for (const json::Member& member : request.members()) {
    const bool known =
        holds(kKnown, member.key) || (member.key == "thinking" && is_served_by(model, kDeepSeek));
    const bool unwanted =
        holds(plugin.blocked_params, member.key) || (plugin.strip_unknown && !known);
    if (unwanted && !is_essential(member.key)) body.remove(member.key);
  }
}

/// The members of an API that a request may have, and those that it must have.
struct NativeApi {
  std::span<const NativeParam> params;
  std::array<std::string_view, 3> essential;
  std::string_view token_bound;
};

NativeApi api_of(request::Api api) {
  if (api == request::Api::kMessages)
    return {kMessagesParams, {"model", "messages", "max_tokens"}, "max_tokens"};
  return {kResponsesParams, {"model", "input", "input"}, "max_output_tokens"};
}

}  // namespace

void limit_params(const config::RequestParamsPlugin* plugin, std::optional<uint32_t> tokens,
                  const request::NativeRequest& request, splice::ObjectEditor& body) {
  const NativeApi api = api_of(request.api);
  std::optional<uint32_t> bound = tokens;
  if (plugin != nullptr) {
    const auto blocked = [&](std::string_view name) { return holds(plugin->blocked_params, name); };
    for (const json::Member& member : request.document.root().members()) {
      const auto known = std::find_if(api.params.begin(), api.params.end(),
                                      [&](const auto& each) { return each.name == member.key; });
      const bool is_known = known != api.params.end();
      const bool unwanted =
          blocked(member.key) || (plugin->strip_unknown && !is_known) ||
          (is_known && std::any_of(known->chat.begin(), known->chat.end(), blocked));
      if (unwanted && !holds(api.essential, member.key)) body.remove(member.key);
    }
    if (plugin->max_tokens_limit)
      bound = std::min(bound.value_or(*plugin->max_tokens_limit), *plugin->max_tokens_limit);
  }
  if (bound && !bound_param(api.token_bound, *bound, body))
    body.set(api.token_bound, std::to_string(*bound));
}

void limit_params(const config::RequestParamsPlugin* plugin, std::optional<uint32_t> tokens,
                  const config::Model& model, json::Value request, splice::ObjectEditor& body) {
  std::optional<uint32_t> bound = tokens;
  if (plugin != nullptr) {
    remove_params(*plugin, model, request, body);
    if (plugin->max_n) bound_param("n", *plugin->max_n, body);
    if (plugin->max_tokens_limit)
      bound = std::min(bound.value_or(*plugin->max_tokens_limit), *plugin->max_tokens_limit);
  }
  if (!bound) return;
  bool is_present = false;
  for (const std::string_view name : kTokenBounds) is_present |= bound_param(name, *bound, body);
  if (is_present) return;
  body.set(token_limit_of(model), std::to_string(*bound));
}

void name_token_bound(const config::Model& model, splice::ObjectEditor& body) {
  if (!takes_completion_tokens(model)) return;
  std::optional<std::string> bound = body.json_of("max_tokens");
  if (!bound) return;
  body.remove("max_tokens");
  body.set("max_completion_tokens", *std::move(bound));
}

}  // namespace signalbox::plugins
