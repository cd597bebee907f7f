// `signalbox classify`: reads texts and writes the scores of a sequence head.

#include <algorithm>
#include <cxxopts.hpp>

#include "base/json_writer.h"
#include "engine/engine.h"
#include "tools/command.h"
#include "tools/jsonl.h"
#include "tools/options.h"
#include "tools/read_text.h"
#include "tools/truncation.h"

namespace signalbox::tools {
namespace {

Result<signals::TextKind> kind_of(const json::Value& row) {
  const auto document = row.find("document");
  if (!document) return signals::TextKind::kPrompt;
  if (!document->is_bool())
    return fail(Code::kInvalid, "document: expected true or false, found {}", document->raw());
  return document->boolean() ? signals::TextKind::kDocument : signals::TextKind::kPrompt;
}

std::string to_json(const engine::HeadInfo& head, const signals::TextScores& read) {
  const std::vector<float>& scores = read.scores;
  const auto best = std::ranges::max_element(scores) - scores.begin();
  json::Writer out;
  out.begin_object().member("label", head.labels[best]).member("score", scores[best]);
  out.key("scores").begin_object();
  for (size_t i = 0; i < scores.size(); ++i) out.member(head.labels[i], scores[i]);
  out.end_object();
  if (!read.whole) out.member("truncated", true);
  return out.end_object().take();
}

// Returns the scores of one text or pair. A pair is not split into windows, because its halves
// belong together; it is truncated to the model's limit.
Result<signals::TextScores> scores_of(const engine::TextModel& model, size_t head,
                                      const json::Value& row) {
  engine::Input input;
  SIGNALBOX_TRY(input.text, string_member(row, "text"));
  SIGNALBOX_TRY(const signals::TextKind kind, kind_of(row));
  if (!row.find("pair")) return read_text(model, head, input.text, kind);
  SIGNALBOX_TRY(input.pair, string_member(row, "pair"));
  SIGNALBOX_TRY(auto answers, model.answer({&input, 1}));
  SIGNALBOX_TRY(const bool is_cut, model.is_cut(input));
  return signals::TextScores{std::move(answers[head].scores), !is_cut};
}

int classify(const engine::TextModel& model, size_t head) {
  TruncationCounter truncated;
  const auto done = for_each_row([&](const json::Value& row) -> Result<std::string> {
    SIGNALBOX_TRY(const signals::TextScores read, scores_of(model, head, row));
    truncated.add(!read.whole);
    return to_json(model.heads()[head], read);
  });
  truncated.print("classify", windows_limit(model));
  return done ? kExitOk : report(done.error());
}

int classify_command(int argc, char** argv) {
  cxxopts::Options options(
      "signalbox classify",
      "Reads lines {\"text\": ..., \"pair\": ...?, \"document\": ...?} and writes {\"label\", "
      "\"score\", \"scores\": {label: score}}.\n"
      "Reads a long text in windows, as the router does: a guard by its most suspicious window, "
      "any\n"
      "other model by the mean of the windows. Pairs are truncated to the model's limit of "
      "tokens.\n"
      "\"truncated\": true marks a text that was not read completely, and their number is reported "
      "at\nthe end. \"document\": true marks a text that the model reads for its user, such as the "
      "result of a\ntool; a guard with a head named injection judges it by that, too.");
  add_model_options(options);
  return with_model(options, argc, argv,
                    [](const cxxopts::ParseResult& parsed, const engine::TextModel& model) {
                      const auto head = chosen_head(parsed, model, engine::HeadKind::kSequence);
                      return head ? classify(model, *head) : report(head.error());
                    });
}

}  // namespace

const Command kClassifyCommand = {"classify", "classifies texts, or pairs of texts",
                                  classify_command};

}  // namespace signalbox::tools
