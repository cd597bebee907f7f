// Plugins that change the request before it goes out, or answer instead.

#include "router/config/headers.h"
#include "router/config/pii_types.h"
#include "router/config/plugin_tables.h"

namespace signalbox::config {
namespace {

using Compression = ContextCompressionPlugin;

void check_header(Reader& reader, const yaml::Node& node, HeaderMutationPlugin::Pair& pair) {
  if (pair.name.empty()) return;
  const uint32_t line = node.find("name")->line;
  reader.at_key("name", [&] {
    if (!is_header_name(pair.name))
      return reader.error(line,
                          fmt::format("expected a name of a header, found \"{}\"", pair.name));
    if (is_own_header(pair.name))
      reader.error(line, fmt::format("the router sets \"{}\" itself", pair.name));
  });
  if (is_header_value(pair.value)) return;
  reader.at_key("value", [&] {
    reader.error(node.find("value")->line, "expected one line without control characters");
  });
}

const Section<HeaderMutationPlugin::Pair>& header_section() {
  using Pair = HeaderMutationPlugin::Pair;
  static const Section<Pair> section{{
                                         required("name", text(&Pair::name), "of the header"),
                                         optional("value", string(&Pair::value), "of the header"),
                                     },
                                     check_header};
  return section;
}

void check_removed_headers(Reader& reader, const yaml::Node& node, HeaderMutationPlugin& plugin) {
  for (const std::string& name : plugin.remove) {
    if (!is_own_header(name)) continue;
    reader.at_key("delete", [&] {
      reader.notice(node.find("delete")->line,
                    fmt::format("the router sets \"{}\" itself; it stays", name));
    });
  }
}

// Without them there is no request.
void check_blocked_params(Reader& reader, const yaml::Node& node, RequestParamsPlugin& plugin) {
  for (const std::string& name : plugin.blocked_params) {
    if (name != "model" && name != "messages") continue;
    reader.at_key("blocked_params", [&] {
      reader.error(node.find("blocked_params")->line,
                   fmt::format("\"{}\" cannot be taken out of a request", name));
    });
  }
}

const Section<Compression::Budget>& budget_section() {
  using B = Compression::Budget;
  static const Section<B> section{{
      optional("trigger_tokens", text(&B::trigger_tokens), "a request as long is compressed"),
      optional("target_tokens", text(&B::target_tokens), "to this length"),
      optional("reserve_output_tokens", text(&B::reserve_output_tokens), "room for the reply"),
  }};
  return section;
}

const Section<Compression::Target>& target_section() {
  using T = Compression::Target;
  static const Section<T> section{{
      optional("mode", word(&T::mode, {"extractive", "preserve"}), "shorten it, or leave it"),
      optional("min_tokens", count(&T::min_tokens), "shorter texts are left"),
      optional("target_tokens", count(&T::target_tokens), "of what is left of a longer one"),
  }};
  return section;
}

const Section<Compression::Targets>& targets_section() {
  using T = Compression::Targets;
  static const Section<T> section{{
      optional("tool_outputs", object(&T::tool_outputs, target_section), "replies of tools"),
      optional("history", object(&T::history, target_section), "earlier turns"),
      optional("rag", object(&T::rag, target_section), "documents that were added"),
      optional("memory", object(&T::memory, target_section), "memories that were added"),
  }};
  return section;
}

const Section<Compression::Scoring>& scoring_section() {
  using S = Compression::Scoring;
  static const Section<S> section{{
      optional("method", word(&S::method, {"bm25", "embedding"}), "what makes a sentence stay"),
      optional("embedding_model_ref", string(&S::embedding_model_ref), "of embedding"),
  }};
  return section;
}

const Section<Compression::Recovery>& recovery_section() {
  using R = Compression::Recovery;
  static const Section<R> section{{
      optional("enabled", boolean(&R::enabled), "the model may ask for what was left out"),
      optional("store", string(&R::store), "where it is kept"),
      optional("ttl_seconds", count(&R::ttl_seconds), "for how long"),
      optional("max_bytes_per_request", count(&R::max_bytes_per_request), "of a request"),
      optional("max_total_bytes", integer(&R::max_total_bytes, 0, int64_t{1} << 48), "of all"),
      optional("max_retrievals", count(&R::max_retrievals), "of a request"),
  }};
  return section;
}

}  // namespace

const Section<SystemPromptPlugin>& system_prompt_section() {
  using P = SystemPromptPlugin;
  static const Section<P> section{{
      optional("enabled", boolean(&P::enabled), "false leaves the request alone"),
      optional("mode",
               choice(&P::mode, {{"replace", P::Mode::kReplace}, {"insert", P::Mode::kInsert}}),
               "take the place of the client's system prompt, or stand in front of it"),
      required("system_prompt", text(&P::system_prompt), "the text"),
  }};
  return section;
}

const Section<FastResponsePlugin>& fast_response_section() {
  static const Section<FastResponsePlugin> section{{
      required("message", string(&FastResponsePlugin::message), "the reply"),
  }};
  return section;
}

const Section<HeaderMutationPlugin>& header_mutation_section() {
  using P = HeaderMutationPlugin;
  static const Section<P> section{
      {
          optional("add", list(&P::add, header_section), "headers the request may have already"),
          optional("update", list(&P::update, header_section), "headers that are replaced"),
          optional("delete", texts(&P::remove), "names of headers that are taken out"),
      },
      check_removed_headers};
  return section;
}

const Section<RequestParamsPlugin>& request_params_section() {
  using P = RequestParamsPlugin;
  static const Section<P> section{
      {
          optional("blocked_params", texts(&P::blocked_params), "parameters that are taken out"),
          optional("max_tokens_limit", count(&P::max_tokens_limit), "bound of max_tokens"),
          optional("max_n", count(&P::max_n), "bound of n"),
          optional("strip_unknown", boolean(&P::strip_unknown),
                   "take out what OpenAI does not know"),
      },
      check_blocked_params};
  return section;
}

const Section<PiiMaskPlugin>& pii_mask_section() {
  using P = PiiMaskPlugin;
  static const Section<P> section{{
      optional("enabled", boolean(&P::enabled), "false leaves the request alone"),
      optional("types", pii_types(&P::types), "that are masked; all without it"),
      optional("threshold", share(&P::threshold), "least score; the classifier's without it"),
      optional(
          "on_error",
          choice(&P::on_error, {{"refuse", P::OnError::kRefuse}, {"rules", P::OnError::kRules}}),
          "when the model fails: refuse the request, or mask what rules find"),
  }};
  return section;
}

const Section<RequestControls>& request_controls_section() {
  using C = RequestControls;
  static const Section<C> section{{
      optional("enabled", boolean(&C::enabled), "whether clients have a say"),
      optional("header", string(&C::header), "by which they say it"),
      optional("allowed", texts(&C::allowed), "what they may say"),
      optional("max_ttl_seconds", count(&C::max_ttl_seconds), "bound of ttl"),
      optional("max_target_tokens", count(&C::max_target_tokens), "bound of target"),
  }};
  return section;
}

const Section<ContextCompressionPlugin>& context_compression_section() {
  using P = Compression;
  static const Section<P> section{{
      optional("enabled", boolean(&P::enabled), "false leaves the request alone"),
      optional("mode", string(&P::mode), "auto, ..."),
      optional("budget", object(&P::budget, budget_section), "when, and how far"),
      optional("targets", object(&P::targets, targets_section), "what may be shortened"),
      optional("scoring", object(&P::scoring, scoring_section), "what stays"),
      optional("recovery", object(&P::recovery, recovery_section), "of what was left out"),
      optional("request_controls", object(&P::request_controls, request_controls_section),
               "what clients may say about it"),
      optional("failure_mode", word(&P::failure_mode, {"fail_open", "fail_closed"}),
               "send the request as it is, or refuse it"),
  }};
  return section;
}

}  // namespace signalbox::config
