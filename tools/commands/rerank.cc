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
    out.member("score", each.score);
    if (!each.whole) out.member("truncated", true);
    out.end_object();
  }
  return out.end_array().end_object().take();
}

int rerank(const engine::TextModel& model, size_t head) {
  if (const auto fit = engine::check_reranker(model.heads()[head]); !fit)
    return report(fit.error());
  TruncationCounter truncated;
  const auto done = for_each_row([&](const json::Value& row) -> Result<std::string> {
    SIGNALBOX_TRY(const std::string_view query, string_member(row, "query"));
    SIGNALBOX_TRY(const auto documents, read_documents(row));
    SIGNALBOX_TRY(const auto ranked, engine::rerank(model, head, query, documents));
    for (const engine::RankedDocument& each : ranked) truncated.add(!each.whole);
    return to_json(ranked);
  });
  truncated.print("rerank", fmt::format("a query of {} tokens or a document of {} windows",
                                        model.tokens_max() / 2, engine::kDocumentWindowsMax));
  return done ? kExitOk : report(done.error());
}

int rerank_command(int argc, char** argv) {
  cxxopts::Options options(
      "signalbox rerank",
      "Reads lines {\"query\": ..., \"documents\": [...]} and writes {\"results\": [{\"index\", "
      "\"score\"}]}, best first.\nThe model is a cross-encoder with one label. A score is between "
      "0 and 1 unless the model's config.json selects raw scores. A document above the model's "
      "limit "
      "of tokens is read in windows and has the score of its best one; \"truncated\": true marks "
      "one "
      "that was not read completely.");
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
