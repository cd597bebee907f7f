// `signalbox tag`: texts in, the spans that a token head marks out.

#include <cxxopts.hpp>
#include <iostream>

#include "base/json_writer.h"
#include "engine/engine.h"
#include "tools/code_points.h"
#include "tools/command.h"
#include "tools/jsonl.h"
#include "tools/options.h"

namespace signalbox::tools {
namespace {

std::string to_json(std::string_view text, const std::vector<engine::Entity>& entities) {
  const auto before = code_points_before(text);
  json::Writer out;
  out.begin_object().key("entities").begin_array();
  for (const engine::Entity& entity : entities) {
    out.begin_object().member("type", entity.type);
    out.key("start").integer(before[entity.begin]).key("end").integer(before[entity.end]);
    out.member("text", text.substr(entity.begin, entity.end - entity.begin));
    out.member("score", entity.score).end_object();
  }
  return out.end_array().end_object().take();
}

int tag(const engine::TextModel& model, size_t head) {
  std::ios::sync_with_stdio(false);
  const auto done = for_each_row(std::cin, [&](const json::Value& row) -> Result<std::string> {
    engine::Input input;
    SIGNALBOX_TRY(input.text, string_member(row, "text"));
    SIGNALBOX_TRY(const auto answers, model.answer({&input, 1}));
    return to_json(input.text, answers[head].entities);
  });
  return done ? kExitOk : report(done.error());
}

int run(int argc, char** argv) {
  cxxopts::Options options(
      "signalbox tag",
      "Reads lines {\"text\": ...}, writes {\"entities\": [{\"type\", \"start\", \"end\", "
      "\"text\", "
      "\"score\"}]}.\nOffsets count Unicode code points, the end is exclusive.");
  add_model_options(options);
  return with_model(options, argc, argv,
                    [](const cxxopts::ParseResult& parsed, const engine::TextModel& model) {
                      const auto head = chosen_head(parsed, model, engine::HeadKind::kTokens);
                      return head ? tag(model, *head) : report(head.error());
                    });
}

}  // namespace

const Command kTagCommand = {"tag", "spans that a model marks in texts", run};

}  // namespace signalbox::tools
