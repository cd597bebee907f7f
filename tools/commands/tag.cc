// `signalbox tag`: texts in, the spans that a token head marks out, with what rules find where
// personal data is looked for.

#include <cxxopts.hpp>
#include <filesystem>

#include "base/json_writer.h"
#include "engine/engine.h"
#include "router/signals/pii_finder.h"
#include "router/text/windows.h"
#include "tools/code_points.h"
#include "tools/command.h"
#include "tools/cut_texts.h"
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

std::string to_json(std::string_view text, const std::vector<pii::PiiEntity>& entities) {
  const auto before = code_points_before(text);
  json::Writer out;
  out.begin_object().key("entities").begin_array();
  for (const pii::PiiEntity& entity : entities) {
    out.begin_object().member("type", entity.type);
    out.key("start").integer(before[entity.begin]).key("end").integer(before[entity.end]);
    out.member("text", text.substr(entity.begin, entity.end - entity.begin));
    out.member("score", static_cast<float>(entity.score));
    out.member("source", pii::pii_source_name(entity.source)).end_object();
  }
  return out.end_array().end_object().take();
}

/// The model of that name finds personal data, and is no more than half of what does.
bool has_rules_by_default(std::string_view model) {
  return std::filesystem::path(model).filename() == "pii";
}

// In windows and with rules, as the router reads it.
int tag_with_rules(const engine::TextModel& model, size_t head) {
  const signals::PiiFinder finder({&model, head, model.heads()[head].labels});
  const auto ask = [&](std::string_view window) -> Result<std::vector<engine::Entity>> {
    const engine::Input input{.text = window};
    SIGNALBOX_TRY(auto answers, model.answer({&input, 1}));
    return std::move(answers[head].entities);
  };
  CutTexts cut;
  const auto done = for_each_row([&](const json::Value& row) -> Result<std::string> {
    SIGNALBOX_TRY(const std::string_view text, string_member(row, "text"));
    SIGNALBOX_TRY(const signals::PiiFound found, finder.entities({text}, ask));
    cut.add(!found.whole);
    return to_json(text, found.in.front());
  });
  cut.tell("tag", fmt::format("{} windows of the model", text::kWindowsMax));
  return done ? kExitOk : report(done.error());
}

int tag(const engine::TextModel& model, size_t head) {
  CutTexts cut;
  const auto done = for_each_row([&](const json::Value& row) -> Result<std::string> {
    engine::Input input;
    SIGNALBOX_TRY(input.text, string_member(row, "text"));
    SIGNALBOX_TRY(const auto answers, model.answer({&input, 1}));
    SIGNALBOX_TRY(const bool is_cut, model.is_cut(input));
    cut.add(is_cut);
    return to_json(input.text, answers[head].entities);
  });
  cut.tell("tag", fmt::format("the model's {} tokens", model.tokens_max()));
  return done ? kExitOk : report(done.error());
}

int tag_command(int argc, char** argv) {
  cxxopts::Options options(
      "signalbox tag",
      "Reads lines {\"text\": ...}, writes {\"entities\": [{\"type\", \"start\", \"end\", "
      "\"text\", "
      "\"score\"}]}.\nOffsets count Unicode code points, the end is exclusive. With --rules each "
      "has a\n\"source\": rule, model or both, and a long text is read in windows, as the router "
      "does; without, it is\nread up to the model's limit of tokens, and how many were longer is "
      "told at the end.");
  add_model_options(options);
  options.add_options()("rules",
                        "merge what rules find of personal data and secrets (the default for a "
                        "model called pii; --rules=false without)",
                        cxxopts::value<bool>());
  return with_model(
      options, argc, argv, [](const cxxopts::ParseResult& parsed, const engine::TextModel& model) {
        const auto head = chosen_head(parsed, model, engine::HeadKind::kTokens);
        const bool rules = parsed.count("rules") > 0
                               ? parsed["rules"].as<bool>()
                               : has_rules_by_default(parsed["model"].as<std::string>());
        if (!head) return report(head.error());
        return rules ? tag_with_rules(model, *head) : tag(model, *head);
      });
}

}  // namespace

const Command kTagCommand = {"tag", "spans that a model marks in texts", tag_command};

}  // namespace signalbox::tools
