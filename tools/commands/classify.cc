// `signalbox classify`: reads texts and writes the scores of a sequence head.

#include <algorithm>
#include <cxxopts.hpp>

#include "base/json_writer.h"
#include "engine/engine.h"
#include "tools/command.h"
#include "tools/jsonl.h"
#include "tools/options.h"
#include "tools/truncation.h"

namespace signalbox::tools {
namespace {

std::string to_json(const engine::HeadInfo& head, const std::vector<float>& scores) {
  const auto best = std::ranges::max_element(scores) - scores.begin();
  json::Writer out;
  out.begin_object().member("label", head.labels[best]).member("score", scores[best]);
  out.key("scores").begin_object();
  for (size_t i = 0; i < scores.size(); ++i) out.member(head.labels[i], scores[i]);
  return out.end_object().end_object().take();
}

int classify(const engine::TextModel& model, size_t head) {
  TruncationCounter truncated;
  const auto done = for_each_row([&](const json::Value& row) -> Result<std::string> {
    engine::Input input;
    SIGNALBOX_TRY(input.text, string_member(row, "text"));
    if (row.find("pair")) {
      SIGNALBOX_TRY(input.pair, string_member(row, "pair"));
    }
    SIGNALBOX_TRY(const auto answers, model.answer({&input, 1}));
    SIGNALBOX_TRY(const bool is_cut, model.is_cut(input));
    truncated.add(is_cut);
    return to_json(model.heads()[head], answers[head].scores);
  });
  truncated.print("classify", fmt::format("the model's {} tokens", model.tokens_max()));
  return done ? kExitOk : report(done.error());
}

int classify_command(int argc, char** argv) {
  cxxopts::Options options("signalbox classify",
                           "Reads lines {\"text\": ..., \"pair\": ...?} and writes {\"label\", "
                           "\"score\", \"scores\": {label: score}}.\nReads each text in one pass, "
                           "truncated to the model's limit of tokens, and reports the number of\n"
                           "truncated texts at the end. (The router reads a long text in windows "
                           "instead.)");
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
