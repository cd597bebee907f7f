// `signalbox classify`: texts in, the scores of a sequence head out.

#include <algorithm>
#include <cxxopts.hpp>

#include "base/json_writer.h"
#include "engine/engine.h"
#include "tools/command.h"
#include "tools/cut_texts.h"
#include "tools/jsonl.h"
#include "tools/options.h"

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
  CutTexts cut;
  const auto done = for_each_row([&](const json::Value& row) -> Result<std::string> {
    engine::Input input;
    SIGNALBOX_TRY(input.text, string_member(row, "text"));
    if (row.find("pair")) {
      SIGNALBOX_TRY(input.pair, string_member(row, "pair"));
    }
    SIGNALBOX_TRY(const auto answers, model.answer({&input, 1}));
    SIGNALBOX_TRY(const bool is_cut, model.is_cut(input));
    cut.add(is_cut);
    return to_json(model.heads()[head], answers[head].scores);
  });
  cut.tell("classify", fmt::format("the model's {} tokens", model.tokens_max()));
  return done ? kExitOk : report(done.error());
}

int classify_command(int argc, char** argv) {
  cxxopts::Options options("signalbox classify",
                           "Reads lines {\"text\": ..., \"pair\": ...?}, writes {\"label\", "
                           "\"score\", \"scores\": {label: "
                           "score}}.\nA text is read at once, up to the model's limit of "
                           "tokens; how many were longer is told at the\nend. The router reads "
                           "windows of a long text instead.");
  add_model_options(options);
  return with_model(options, argc, argv,
                    [](const cxxopts::ParseResult& parsed, const engine::TextModel& model) {
                      const auto head = chosen_head(parsed, model, engine::HeadKind::kSequence);
                      return head ? classify(model, *head) : report(head.error());
                    });
}

}  // namespace

const Command kClassifyCommand = {"classify", "labels of texts, or of pairs of texts",
                                  classify_command};

}  // namespace signalbox::tools
