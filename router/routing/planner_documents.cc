// The plugin rag in both steps of the planner. The first step finds the documents, because that
// takes a call of a server; the second adds them.

#include "router/models/shaped_embedder.h"
#include "router/plugins/rag/file_search.h"
#include "router/plugins/rag/rag.h"
#include "router/plugins/system_prompt/system_prompt.h"
#include "router/retrieval/reranker.h"
#include "router/routing/planner.h"

namespace signalbox::routing {
namespace {

/// True if the documents are added as the result of a tool. A native request may have no place for
/// it, and Anthropic's servers refuse it without a definition of the tool.
bool as_tool_result(const config::RagPlugin& plugin, const Plan& plan, bool strips_tools) {
  return plugin.injection_mode != "system_prompt" && !plan.native && !strips_tools &&
         plan.model->api_format == config::Model::ApiFormat::kOpenAi;
}

bool has_rag(const PlanTarget& target) {
  const config::Decision* decision = target.decision;
  return decision != nullptr && !decision->fast_response && decision->rag &&
         decision->rag->enabled && decision->missing_plugins.empty();
}

// No other API has the tool, and a request that lost it would be answered without documents.
Result<void> check_file_search(const PlanInputs& inputs, const Plan& plan) {
  const auto& native = inputs.signal_inputs.request().native;
  if (plan.native && native->api == request::Api::kResponses) return {};
  return fail(Code::kUnsupported,
              "decision \"{}\" (rag with workflow_mode tool_based) answers only requests of the "
              "responses API that go to a model with responses_api: true as they are",
              inputs.target.decision->name);
}

}  // namespace

Result<void> Planner::add_retrievers(const models::Models& models) {
  for (const config::Decision& decision : routing_.decisions) {
    if (!retrieves({.decision = &decision})) continue;
    const std::string where =
        fmt::format("{}:{}: decision \"{}\": rag", config_.source, decision.line, decision.name);
    auto opened =
        retrieval::open_retriever(config_, *decision.rag, decision.name, stores_.documents);
    if (!opened && opened.error().code != Code::kNotFound)
      return fail_in(where, std::move(opened).error());
    if (!opened) {
      notices_.push_back(fmt::format("{}: {}; every search fails", where, opened.error().message));
      continue;
    }
    if ((*opened)->needs_vector() && models.lacks_embedder())
      notices_.push_back(fmt::format(
          "{}: its server compares embeddings, and there is no embedding model; every search fails",
          where));
    if (decision.rag->rerank) {
      opened = reranked(*std::move(opened), decision, where, models);
      if (!opened) return fail_in(where, std::move(opened).error());
    }
    retrievers_.add(&decision, *std::move(opened));
  }
  return {};
}

Result<std::unique_ptr<const retrieval::Retriever>> Planner::reranked(
    std::unique_ptr<const retrieval::Retriever> search, const config::Decision& decision,
    const std::string& where, const models::Models& models) {
  const std::string& directory = config::reranker_of(config_, routing_);
  const auto model = models.classifiers.find(directory);
  const bool is_there = model != models.classifiers.end();
  if (models.are_open && !is_there && !directory.empty())
    notices_.push_back(fmt::format("{}: rerank: {}; {}", where, models::absence(directory),
                                   decision.rag->on_failure == "block"
                                       ? "every search fails"
                                       : "documents are in the order of their search"));
  return retrieval::rerank(std::move(search), *decision.rag, is_there ? model->second : nullptr,
                           directory);
}

bool Planner::retrieves(const PlanTarget& target) {
  return has_rag(target) && !plugins::offers_file_search(*target.decision->rag);
}

bool Planner::offers_file_search(const PlanTarget& target) {
  return has_rag(target) && plugins::offers_file_search(*target.decision->rag);
}

std::optional<std::string_view> Planner::searched_text(const signals::Inputs& inputs,
                                                       ModelResults& results) {
  if (results.masked && !results.masked->masks.empty() && !results.searched) {
    auto masked = request::ChatRequest::parse(std::string(results.masked->body.source()));
    if (!masked) return std::nullopt;
    results.searched.emplace(*std::move(masked));
  }
  return results.searched ? results.searched->user_text() : inputs.request().user_text();
}

void Planner::find_documents(const PlanTarget& target, signals::Inputs& inputs,
                             ModelResults& results) const {
  plugins::FoundDocuments& out = results.documents;
  out.outcome = plugins::RagOutcome::kFailed;
  const retrieval::Retriever* const retriever = retrievers_.find(target.decision);
  // If masking failed, the plan refuses the request.
  if (retriever == nullptr || (mask_of(target) != nullptr && !results.masked)) return;
  const std::optional<std::string_view> found_text = searched_text(inputs, results);
  if (!found_text) return;
  const std::string_view text = *found_text;
  if (text.empty()) {
    out.outcome = plugins::RagOutcome::kNothing;
    return;
  }
  retrieval::Query query{text};
  std::string space;
  if (retriever->needs_vector() && inputs.embeds()) {
    const auto vector = inputs.embedding(inputs.digest("embedding", text));
    if (vector) {
      query.vector = *vector;
      space = models::space_of(config_.embedding_model, vector->size());
      query.space = space;
    }
  }
  const auto documents = retriever->find(query, inputs.patience());
  if (!documents) {
    if (documents.error().code == Code::kNotFound) out.outcome = plugins::RagOutcome::kNothing;
    return;
  }
  out.outcome = plugins::RagOutcome::kAdded;
  out.count = static_cast<uint32_t>(documents->size());
  out.text = plugins::join_documents(*target.decision->rag, *documents);
}

plugins::RagOutcome Planner::documents_outcome(const PlanTarget& target,
                                               const ModelResults& results) {
  using plugins::RagOutcome;
  if (!retrieves(target)) return RagOutcome::kUnused;
  const RagOutcome outcome = results.documents.outcome;
  return outcome == RagOutcome::kUnused ? RagOutcome::kFailed : outcome;
}

Result<void> Planner::check_documents(const PlanInputs& inputs, Plan& plan) {
  if (offers_file_search(inputs.target)) return check_file_search(inputs, plan);
  if (!retrieves(inputs.target)) return {};
  using plugins::RagOutcome;
  plan.documents = inputs.results.documents;
  plan.documents.outcome = documents_outcome(inputs.target, inputs.results);
  const config::Decision& decision = *inputs.target.decision;
  if (decision.rag->on_failure != "block" || plan.documents.outcome == RagOutcome::kAdded)
    return {};
  if (plan.documents.outcome == RagOutcome::kNothing) {
    return fail(Code::kNotFound,
                "decision \"{}\" answers only with documents, and there is none for this request",
                decision.name);
  }
  return fail(Code::kUpstream,
              "decision \"{}\" answers only with documents, and the search for them failed",
              decision.name);
}

// The decision's own prompt, the documents and the memories, as one plugin.
std::optional<config::SystemPromptPlugin> Planner::prompt_of(const PlanInputs& inputs,
                                                             const Plan& plan,
                                                             std::string_view documents) {
  std::optional<config::SystemPromptPlugin> out;
  if (plan.injected_system_prompt) out = *inputs.target.decision->system_prompt;
  const auto add = [&out](std::string_view text) {
    out = plugins::prompt_with(out ? &*out : nullptr, text);
  };
  if (!documents.empty()) add(fmt::format("{}{}", plugins::kDocumentsTitle, documents));
  if (!plan.memories.text.empty()) add(plan.memories.text);
  return out;
}

void Planner::add_prompt(const PlanInputs& inputs, const Plan& plan, json::Value messages,
                         std::vector<splice::Edit>& edits) {
  const std::string& documents = plan.documents.text;
  const bool is_added =
      !documents.empty() &&
      as_tool_result(*inputs.target.decision->rag, plan, strips_tools(inputs.target)) &&
      plugins::add_as_tool_result(documents, messages, edits);
  if (const auto prompt = prompt_of(inputs, plan, is_added ? "" : documents))
    plugins::add_system_prompt(*prompt, messages, edits);
}

void Planner::add_prompt(const PlanInputs& inputs, const Plan& plan,
                         const request::NativeRequest& native, splice::ObjectEditor& body,
                         std::vector<splice::Edit>& edits) {
  if (const auto prompt = prompt_of(inputs, plan, plan.documents.text))
    plugins::add_system_prompt(*prompt, native, body, edits);
}

}  // namespace signalbox::routing
