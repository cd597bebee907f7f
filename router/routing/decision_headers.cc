// Names come from the configuration and may contain any character, even a line feed. header_value()
// encodes them, so that code downstream need not.

#include "router/routing/decision_headers.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/counted.h"

namespace signalbox::routing {
namespace {

// The header for each signal type, with the names that the vLLM Semantic Router uses.
constexpr auto kMatchedHeaders = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"keyword", "x-vsr-matched-keywords"},
    {"embedding", "x-vsr-matched-embeddings"},
    {"domain", "x-vsr-matched-domains"},
    {"fact_check", "x-vsr-matched-fact-check"},
    {"user_feedback", "x-vsr-matched-user-feedback"},
    {"reask", "x-vsr-matched-reask"},
    {"preference", "x-vsr-matched-preference"},
    {"language", "x-vsr-matched-language"},
    {"context", "x-vsr-matched-context"},
    {"structure", "x-vsr-matched-structure"},
    {"complexity", "x-vsr-matched-complexity"},
    {"modality", "x-vsr-matched-modality"},
    {"authz", "x-vsr-matched-authz"},
    {"jailbreak", "x-vsr-matched-jailbreak"},
    {"safety", "x-vsr-matched-safety"},
    {"pii", "x-vsr-matched-pii"},
    {"kb", "x-vsr-matched-kb"},
    {"conversation", "x-vsr-matched-conversation"},
    {"event", "x-vsr-matched-event"},
    {"input_modality", "x-vsr-matched-input-modality"},
    {"action", "x-vsr-matched-action"},
    {"agentic_facts", "x-vsr-matched-agentic-facts"},
    {"decision", "x-vsr-matched-decision-model"},
    {"projection", "x-vsr-matched-projections"},
});

// The version of the names and meanings of these headers.
constexpr std::string_view kSchemaVersion = "2";

void append_encoded(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7F && c != '%'; };
  if (std::ranges::all_of(text, is_plain)) {  // as most names are
    out.append(text);
    return;
  }
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain(c)) {
      out.push_back(c);
    } else {
      out.push_back('%');
      out.push_back(kHex[byte >> 4]);
      out.push_back(kHex[byte & 15]);
    }
  }
}

std::string header_value(std::string_view text) {
  std::string out;
  append_encoded(out, text);
  return out;
}

// Writes the action and the reason of each method: "adaptation=keep_base,protection=hold_current".
void add_learning(const learning::Report& report, std::vector<Header>& headers) {
  std::string methods, actions, reasons;
  const auto add = [&](std::string_view method, const learning::Report::Step& step) {
    if (step.action.empty()) return;
    const std::string_view comma = methods.empty() ? "" : ",";
    methods += fmt::format("{}{}", comma, method);
    actions += fmt::format("{}{}={}", comma, method, step.action);
    reasons += fmt::format("{}{}={}", comma, method, step.reason);
  };
  add("adaptation", report.adaptation);
  add("protection", report.protection);
  if (methods.empty()) return;
  headers.push_back({"x-vsr-learning-methods", std::move(methods)});
  headers.push_back({"x-vsr-learning-actions", std::move(actions)});
  headers.push_back({"x-vsr-learning-reasons", std::move(reasons)});
  if (report.seed) headers.push_back({"x-vsr-learning-seed", fmt::format("{}", *report.seed)});
  if (!report.protection.action.empty())
    headers.push_back({"x-vsr-learning-scopes", fmt::format("protection={}", report.scope)});
}

void add_retention(const config::Emit::Retention& retention, std::vector<Header>& headers) {
  const auto add = [&](std::string_view name, const auto& value) {
    if (value) headers.push_back({name, fmt::format("{}", *value)});
  };
  add("x-vsr-retention-drop", retention.drop);
  add("x-vsr-retention-ttl-turns", retention.ttl_turns);
  add("x-vsr-retention-keep-current-model", retention.keep_current_model);
  add("x-vsr-retention-prefer-prefix", retention.prefer_prefix_retention);
}

}  // namespace

std::string header_value(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) {
    if (!out.empty()) out.push_back(',');
    append_encoded(out, name);
  }
  return out;
}

std::string_view path_name(Plan::Path path) {
  switch (path) {
    case Plan::Path::kUpstream:
      return "upstream";
    case Plan::Path::kFastResponse:
      return "fast_response";
    case Plan::Path::kBlocked:
      return "blocked";
    case Plan::Path::kUnable:
      return kErrorPath;
  }
  return "";
}

std::vector<Header> response_headers(const Plan& plan, bool debug) {
  std::vector<Header> headers{
      {"x-vsr-schema-version", std::string(kSchemaVersion)},
      {kResponsePath, std::string(plan.loop != nullptr ? kLooperPath : path_name(plan.path))}};
  headers.reserve(16);
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) headers.push_back({name, header_value(value)});
  };
  add("x-vsr-selected-recipe", plan.recipe);
  add("x-vsr-selected-decision", plan.decision);
  if (!plan.decision.empty())
    add("x-vsr-selected-confidence", fmt::format("{:.4f}", plan.confidence));
  add("x-vsr-selected-algorithm", plan.algorithm);
  if (plan.model != nullptr) add(kSelectedModel, plan.model->name);
  if (!plan.instead_of.empty())
    headers.push_back({"x-vsr-failover-from", header_value(plan.instead_of)});
  add("x-vsr-selected-category", plan.category);
  if (plan.image != nullptr && plan.path == Plan::Path::kUpstream)
    add("x-vsr-selected-modality", "DIFFUSION");
  if (plan.painter != nullptr && plan.path == Plan::Path::kUpstream)
    add("x-vsr-selected-modality", "BOTH");
  if (plan.reasoning) add("x-vsr-selected-reasoning", *plan.reasoning ? "on" : "off");
  if (plan.path == Plan::Path::kUpstream)
    add("x-vsr-injected-system-prompt", plan.injected_system_prompt ? "true" : "false");
  if (plan.path == Plan::Path::kFastResponse) add("x-vsr-fast-response", "true");
  if (!plan.guarded.jailbreak.empty()) {
    add("x-vsr-jailbreak-blocked", "true");
    add("x-vsr-jailbreak-type", plan.guarded.jailbreak);
    add("x-vsr-jailbreak-confidence", fmt::format("{:.3f}", plan.guarded.jailbreak_confidence));
  }
  add("x-vsr-unsupported-language", plan.guarded.unsupported_language);
  if (plan.guarded.pii) add("x-vsr-pii-violation", "true");
  if (!plan.guarded.pii_types.empty())
    headers.push_back({"x-vsr-pii-types", header_value(plan.guarded.pii_types)});
  add("x-vsr-tools-fallback", plan.tools.fallback);
  if (plan.context.outcome != plugins::ContextOutcome::kWhole)
    add("x-vsr-context-compression", plugins::name_of(plan.context.outcome));
  if (plan.context.results > 0)
    add("x-vsr-context-tokens-saved", fmt::format("{}", plan.context.saved()));
  add("x-vsr-rag", plugins::name_of(plan.documents.outcome));
  add("x-vsr-memory", plugins::name_of(plan.memories.outcome));
  if (!debug) return headers;
  if (!plan.tools.strategy.empty()) {
    add("x-vsr-tools-strategy", plan.tools.strategy);
    add("x-vsr-tools-confidence", fmt::format("{:.4f}", plan.tools.confidence));
    add("x-vsr-tools-tokens-saved", fmt::format("{}", plan.tools.tokens_saved));
  }
  if (plan.learning) add_learning(*plan.learning, headers);
  if (plan.retention != nullptr) add_retention(*plan.retention, headers);
  for (const Plan::Matched& matched : plan.matched) {
    const auto header = std::find_if(kMatchedHeaders.begin(), kMatchedHeaders.end(),
                                     [&](const auto& each) { return each.first == matched.type; });
    if (header != kMatchedHeaders.end())
      headers.push_back({header->second, header_value(matched.names)});
  }
  return headers;
}

std::vector<Header> error_headers() {
  return {{"x-vsr-schema-version", std::string(kSchemaVersion)},
          {kResponsePath, std::string(kErrorPath)}};
}

namespace {

std::string context_words(const plugins::ContextReport& report) {
  std::string out;
  if (report.results > 0) {
    out = fmt::format("\n{} of tools shortened: about {} tokens instead of {}",
                      counted(report.results, "result"), report.tokens_after, report.tokens_before);
  }
  if (report.outcome == plugins::ContextOutcome::kOverTarget)
    out +=
        fmt::format("\nContext compression: the request has about {} tokens, and its target is {}",
                    report.tokens_after, report.target);
  if (report.outcome == plugins::ContextOutcome::kNotRun)
    out += "\nContext compression: there was no time for it";
  return out;
}

std::string document_words(const plugins::FoundDocuments& documents) {
  switch (documents.outcome) {
    case plugins::RagOutcome::kUnused:
      return "";
    case plugins::RagOutcome::kAdded:
      return fmt::format("\n{} added", counted(documents.count, "document"));
    case plugins::RagOutcome::kNothing:
      return "\nNo document was found";
    case plugins::RagOutcome::kFailed:
      return "\nThe search for documents failed";
  }
  return "";
}

std::string memory_words(const plugins::FoundMemories& memories) {
  using plugins::MemoryOutcome;
  switch (memories.outcome) {
    case MemoryOutcome::kUnused:
      return "";
    case MemoryOutcome::kAdded:
      return fmt::format(
          "\n{} of the user added",
          memories.ids.size() == 1 ? "1 memory" : fmt::format("{} memories", memories.ids.size()));
    case MemoryOutcome::kNothing:
      return "\nNo memory of the user was found";
    case MemoryOutcome::kFailed:
      return "\nThe search for memories failed";
    case MemoryOutcome::kNameless:
      return "\nNo memories: the request names no user";
    case MemoryOutcome::kOff:
      return "\nNo memories: they are switched off for the request";
    case MemoryOutcome::kWithheld:
      return "\nNo memories: the model has a pii_policy";
  }
  return "";
}

std::string model_words(const Plan& plan) {
  std::string out = fmt::format("Model {}", plan.model->name);
  if (plan.upstream_name != plan.model->name)
    out += fmt::format(" (requested as {})", plan.upstream_name);
  if (!plan.selection_method.empty())
    out += fmt::format(" by {} ({})", plan.selection_method, plan.selection_reason);
  if (plan.reasoning == true) out += ", reasoning on";
  if (!plan.reasoning_effort.empty()) out += fmt::format(" (effort {})", plan.reasoning_effort);
  if (plan.reasoning == false) out += ", reasoning off";
  if (plan.injected_system_prompt) out += ", system prompt added";
  if (plan.image != nullptr) {
    const config::BackendRef& server = plan.image->server.backend_refs.front();
    out += fmt::format("; the image server {} answers", server.name);
  }
  if (plan.painter != nullptr) {
    const config::BackendRef& server = plan.loop->image_gen->server.backend_refs.front();
    out += fmt::format("; the image server {} draws for {} meanwhile", server.name,
                       plan.painter->name);
  }
  return out + context_words(plan.context) + document_words(plan.documents) +
         memory_words(plan.memories);
}

}  // namespace

std::string plan_words(const Plan& plan) {
  if (plan.path == Plan::Path::kFastResponse) return "Answered without a model";
  std::string out = plan.path == Plan::Path::kUpstream ? model_words(plan)
                                                       : fmt::format("Refused: {}", plan.message);
  for (const Plan::LeftOut& each : plan.left_out)
    out += fmt::format("\nNot {}: {}", each.model, each.reason);
  return out;
}

void write_left_out(const Plan& plan, json::Writer& out) {
  if (plan.left_out.empty()) return;
  out.key("left_out").begin_array();
  for (const Plan::LeftOut& each : plan.left_out)
    out.begin_object().member("model", each.model).member("reason", each.reason).end_object();
  out.end_array();
}

}  // namespace signalbox::routing
