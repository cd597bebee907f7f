// One model reranks: global.model_catalog.system.reranker. Clients may call it by the last part of
// its path, or "auto". It is opened when the first request needs it.

#include "router/admin/rerank.h"

#include <algorithm>
#include <filesystem>

#include "base/utf8.h"
#include "engine/model_path.h"
#include "engine/rerank.h"
#include "router/admin/client_handler.h"

namespace signalbox::admin {
namespace {

constexpr size_t kDocumentsMax = 1000;      // per request, as in Cohere's API
constexpr size_t kCharactersMax = 100'000;  // per text; far more than a model reads
constexpr std::string_view kRerankerKey = "global.model_catalog.system.reranker";

struct Reranker {
  std::shared_ptr<const engine::TextModel> model;
  size_t head = 0;
  std::string name;
};

OrFailure<Reranker> find_reranker(const serving::ServingState& state) {
  const std::string& path = state.config().system_models.reranker;
  if (path.empty()) {
    return tl::unexpected<access::Failure>(access::Failure{
        503, "CLASSIFIER_NOT_CONFIGURED",
        fmt::format("no reranker is configured; set {} to the directory of one", kRerankerKey)});
  }
  Reranker out;
  out.name = (std::filesystem::path(path) / "").parent_path().filename().string();
  const auto open = [&]() -> Result<void> {
    SIGNALBOX_TRY(out.model, state.shelf.get(path));
    SIGNALBOX_TRY(const engine::ModelPath place, engine::find_model(path));
    SIGNALBOX_TRY(out.head, engine::find_head(*out.model, place.head, engine::HeadKind::kSequence));
    return engine::check_reranker(out.model->heads()[out.head]);
  };
  if (const auto opened = open(); !opened) return unusable_model(kRerankerKey, opened.error());
  return out;
}

OrFailure<void> check_reranker_name(const Reranker& reranker, const json::Value& root) {
  const auto model = root.find("model");
  if (!model || model->is_null()) return {};
  if (!model->is_string()) return invalid("model: expected a string");
  const std::string_view name = model->text();
  if (name == "auto" || name.empty() || name == reranker.name) return {};
  return tl::unexpected<access::Failure>(
      access::Failure{404, "MODEL_NOT_FOUND",
                      fmt::format("the model {} does not exist (known: auto, {})",
                                  json::quote_briefly(name), reranker.name)});
}

OrFailure<std::string_view> checked_text(std::string_view place, std::string_view text) {
  if (text.size() <= kCharactersMax || utf8::count(text) <= kCharactersMax) return text;
  return invalid(fmt::format("{}: at most {} characters are allowed", place, kCharactersMax));
}

OrFailure<std::string_view> read_query(const json::Value& root) {
  SIGNALBOX_OR_FAIL(const std::string_view query, text_member(root, "query"));
  return checked_text("query", query);
}

// Returns the texts of an array of strings or, with `objects`, of objects with a text.
OrFailure<std::vector<std::string_view>> read_documents(const json::Value& root,
                                                        std::string_view key, bool objects) {
  const auto list = root.find(key);
  const std::string_view expected =
      objects ? "a non-empty string or an object with \"text\"" : "a non-empty string";
  if (!list || !list->is_array()) return invalid(fmt::format("{}: expected an array", key));
  std::vector<std::string_view> out;
  for (const json::Value item : list->items()) {
    const std::string place = fmt::format("{}[{}]", key, out.size());
    if (out.size() == kDocumentsMax)
      return invalid(fmt::format("{}: at most {} texts are allowed", key, kDocumentsMax));
    const auto text = objects && item.is_object() ? item.find("text") : std::optional(item);
    if (!text || !text->is_string() || text->text().empty())
      return invalid(fmt::format("{}: expected {}", place, expected));
    SIGNALBOX_OR_FAIL(out.emplace_back(), checked_text(place, text->text()));
  }
  if (out.empty()) return invalid(fmt::format("{}: must not be empty", key));
  return out;
}

OrFailure<std::vector<engine::RankedDocument>> rank(const Reranker& reranker,
                                                    std::string_view query,
                                                    std::span<const std::string_view> documents,
                                                    const engine::RankOptions& options,
                                                    const engine::Patience& patience) {
  auto ranked = engine::rerank(*reranker.model, reranker.head, query, documents, options, patience);
  if (!ranked) return tl::unexpected<access::Failure>(model_failure(ranked.error()));
  return *std::move(ranked);
}

std::string limit_of(const Reranker& reranker) {
  return fmt::format("the model reads a query of {} tokens and {} windows of a document",
                     reranker.model->tokens_max() / 2, engine::kDocumentWindowsMax);
}

// Cohere's API, version 1 or 2, and Jina's. A text that is too long gets a warning as in Cohere's.
OrFailure<std::string> rerank_documents(const http::Request& request,
                                        const serving::ServingState& state,
                                        const engine::Patience& patience) {
  SIGNALBOX_OR_FAIL(const json::Document document, read_body(request));
  const json::Value root = document.root();
  SIGNALBOX_OR_FAIL(const std::string_view query, read_query(root));
  SIGNALBOX_OR_FAIL(const auto documents, read_documents(root, "documents", true));
  SIGNALBOX_OR_FAIL(const int64_t top, count_member(root, "top_n", kDocumentsMax));
  SIGNALBOX_OR_FAIL(const bool returns_text, flag_member(root, "return_documents"));
  SIGNALBOX_OR_FAIL(const Reranker reranker, find_reranker(state));
  if (auto known = check_reranker_name(reranker, root); !known)
    return tl::unexpected<access::Failure>(std::move(known).error());
  SIGNALBOX_OR_FAIL(auto ranked, rank(reranker, query, documents, {}, patience));
  int64_t tokens = 0;
  for (const engine::RankedDocument& each : ranked) tokens += each.tokens;
  const auto incomplete = std::ranges::count(ranked, false, &engine::RankedDocument::whole);
  if (top > 0 && static_cast<size_t>(top) < ranked.size()) ranked.resize(static_cast<size_t>(top));
  json::Writer out;
  out.begin_object().member("model", reranker.name).key("results").begin_array();
  for (const engine::RankedDocument& each : ranked) {
    out.begin_object().member("index", static_cast<int64_t>(each.index));
    out.member("relevance_score", each.score);
    if (returns_text) {
      out.key("document").begin_object().member("text", documents[each.index]).end_object();
    }
    out.end_object();
  }
  out.end_array();
  if (incomplete > 0) {
    out.key("meta").begin_object().key("warnings").begin_array();
    out.string(fmt::format("{} of {} documents {} not read completely with the query; {}",
                           incomplete, documents.size(), incomplete == 1 ? "was" : "were",
                           limit_of(reranker)));
    out.end_array().end_object();
  }
  out.key("usage").begin_object();
  out.member("prompt_tokens", tokens).member("total_tokens", tokens);
  return out.end_object().end_object().take();
}

// Refuses a text that cannot be read completely.
OrFailure<void> check_whole(const Reranker& reranker,
                            std::span<const engine::RankedDocument> ranked) {
  const auto cut = std::ranges::find(ranked, false, &engine::RankedDocument::whole);
  if (cut == ranked.end()) return {};
  return tl::unexpected<access::Failure>(
      access::Failure{413, "INPUT_TOO_LARGE",
                      fmt::format("texts[{}]: with the query, it is too long; {}; \"truncate\": "
                                  "true cuts it",
                                  cut->index, limit_of(reranker))});
}

// Refuses a request to truncate the beginning of texts, because this model truncates the end.
OrFailure<void> check_direction(const json::Value& root) {
  const auto direction = root.find("truncation_direction");
  if (!direction || direction->is_null()) return {};
  if (direction->is_string() && (direction->text() == "Right" || direction->text() == "right"))
    return {};
  return invalid("truncation_direction: expected \"Right\"");
}

// The API of Text Embeddings Inference. Its servers truncate unless a request forbids it.
OrFailure<std::string> rerank_texts(const http::Request& request,
                                    const serving::ServingState& state,
                                    const engine::Patience& patience) {
  SIGNALBOX_OR_FAIL(const json::Document document, read_body(request));
  const json::Value root = document.root();
  SIGNALBOX_OR_FAIL(const std::string_view query, read_query(root));
  SIGNALBOX_OR_FAIL(const auto texts, read_documents(root, "texts", false));
  SIGNALBOX_OR_FAIL(const bool raw, flag_member(root, "raw_scores"));
  SIGNALBOX_OR_FAIL(const bool returns_text, flag_member(root, "return_text"));
  SIGNALBOX_OR_FAIL(const bool truncates, flag_member(root, "truncate"));
  if (auto right = check_direction(root); !right)
    return tl::unexpected<access::Failure>(std::move(right).error());
  const auto given = root.find("truncate");
  SIGNALBOX_OR_FAIL(const Reranker reranker, find_reranker(state));
  const bool only_whole = given && !given->is_null() && !truncates;
  const engine::RankOptions options{.raw = raw, .only_whole = only_whole};
  SIGNALBOX_OR_FAIL(const auto ranked, rank(reranker, query, texts, options, patience));
  if (only_whole) {
    if (auto whole = check_whole(reranker, ranked); !whole)
      return tl::unexpected<access::Failure>(std::move(whole).error());
  }
  json::Writer out;
  out.begin_array();
  for (const engine::RankedDocument& each : ranked) {
    out.begin_object().member("index", static_cast<int64_t>(each.index));
    out.member("score", each.score);
    if (returns_text) out.member("text", texts[each.index]);
    out.end_object();
  }
  return out.end_array().take();
}

constexpr std::pair<std::string_view, ClientHandler> kRerankHandlers[] = {
    {"/v1/rerank", rerank_documents}, {"/v2/rerank", rerank_documents}, {"/rerank", rerank_texts}};

}  // namespace

std::vector<http::Route> rerank_routes(const serving::CurrentState& current,
                                       http::ThreadPool& pool) {
  std::vector<http::Route> routes;
  for (const auto& [path, handler] : kRerankHandlers) {
    const auto run = [handler = handler](const http::Request& request,
                                         const serving::ServingState& state) {
      return answer_client(request, state, handler);
    };
    routes.push_back(
        management_route("POST", std::string(path), access::kClassify, current, pool, run));
  }
  return routes;
}

std::span<const std::pair<std::string_view, ClientHandler>> rerank_handlers() {
  return kRerankHandlers;
}

}  // namespace signalbox::admin
