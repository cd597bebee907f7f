// `signalbox rerank`: orders documents by their relevance to a query.

#include <cxxopts.hpp>

#include "base/json_writer.h"
#include "engine/rerank.h"
#include "tools/command.h"
#include "tools/jsonl.h"
#include "tools/options.h"
#include "tools/truncation.h"

namespace signalbox::tools {
namespace {

Result<std::vector<std::string_view>> read_documents(const json::Value& row) {
  const auto list = row.find("documents");
  if (!list || !list->is_array())
    return fail(Code::kInvalid, "documents: expected an array of strings");
  std::vector<std::string_view> out;
  for (const json::Value item : list->items()) {
    const auto text = item.is_object() ? item.find("text") : std::optional(item);
    if (!text || !text->is_string()) {
      return fail(Code::kInvalid, "documents[{}]: expected a string or an object with \"text\"",
                  out.size());
    }
    out.push_back(text->text());
  }
  return out;
}

std::string to_json(const std::vector<engine::RankedDocument>& ranked) {
  json::Writer out;
  out.begin_object().key("results").begin_array();
  for (const engine::RankedDocument& each : ranked) {
    out.begin_object().member("index", static_cast<int64_t>(each.index));
    out.member("score", each.score).end_object();
  }
  return out.end_array().end_object().take();
}

// A query that is cut by itself is cut with every document. So a long query is split into tokens
// only once.
Result<void> count_cut(const engine::TextModel& model, std::string_view query,
                       const std::vector<std::string_view>& documents, TruncationCounter& out) {
  SIGNALBOX_TRY(const bool query_is_cut, model.is_cut({.text = query}));
  for (const std::string_view document : documents) {
    bool cut = query_is_cut;
    if (!cut) {
      SIGNALBOX_TRY(cut, model.is_cut({.text = query, .pair = document}));
    }
    out.add(cut);
  }
  return {};
}

int rerank(const engine::TextModel& model, size_t head) {
  if (const auto fit = engine::check_reranker(model.heads()[head]); !fit)
    return report(fit.error());
  TruncationCounter truncated;
  const auto done = for_each_row([&](const json::Value& row) -> Result<std::string> {
    SIGNALBOX_TRY(const std::string_view query, string_member(row, "query"));
    SIGNALBOX_TRY(const auto documents, read_documents(row));
    SIGNALBOX_TRY(const auto ranked, engine::rerank(model, head, query, documents));
    SIGNALBOX_TRY_VOID(count_cut(model, query, documents, truncated));
    return to_json(ranked);
  });
  truncated.print("rerank", fmt::format("the model's {} tokens", model.tokens_max()));
  return done ? kExitOk : report(done.error());
}

int rerank_command(int argc, char** argv) {
  cxxopts::Options options(
      "signalbox rerank",
      "Reads lines {\"query\": ..., \"documents\": [...]} and writes {\"results\": [{\"index\", "
      "\"score\"}]}, best first.\nThe model is a cross-encoder with one label. A score is between "
      "0 and 1 unless the model's config.json selects raw scores. A query and its document are "
      "truncated to the model's limit of tokens.");
  add_model_options(options);
  return with_model(options, argc, argv,
                    [](const cxxopts::ParseResult& parsed, const engine::TextModel& model) {
                      const auto head = chosen_head(parsed, model, engine::HeadKind::kSequence);
                      return head ? rerank(model, *head) : report(head.error());
                    });
}

}  // namespace

const Command kRerankCommand = {"rerank", "orders documents by their relevance to a query",
                                rerank_command};

}  // namespace signalbox::tools
