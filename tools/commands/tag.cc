// `signalbox tag`: reads texts and writes the spans that a token head marks. For personal data, it
// also writes the findings of the rules.

#include <cstdio>
#include <cxxopts.hpp>
#include <filesystem>

#include "base/json_writer.h"
#include "engine/engine.h"
#include "router/signals/pii_finder.h"
#include "tools/code_points.h"
#include "tools/command.h"
#include "tools/jsonl.h"
#include "tools/options.h"
#include "tools/read_text.h"
#include "tools/truncation.h"

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

/// The model `pii` finds only about half of the personal data without the rules.
bool has_rules_by_default(std::string_view model) {
  return std::filesystem::path(model).filename() == "pii";
}

// Reads texts in windows and with rules, as the router does.
int tag_with_rules(const engine::TextModel& model, size_t head) {
  const signals::PiiFinder finder({&model, head, model.heads()[head].labels});
  const auto ask = [&](std::string_view window) -> Result<std::vector<engine::Entity>> {
    const engine::Input input{.text = window};
    SIGNALBOX_TRY(auto answers, model.answer({&input, 1}));
    return std::move(answers[head].entities);
  };
  TruncationCounter truncated;
  const auto done = for_each_row([&](const json::Value& row) -> Result<std::string> {
    SIGNALBOX_TRY(const std::string_view text, string_member(row, "text"));
    SIGNALBOX_TRY(const signals::PiiFound found, finder.entities({text}, ask));
    truncated.add(!found.whole);
    return to_json(text, found.in.front());
  });
  truncated.print("tag", windows_limit(model));
  return done ? kExitOk : report(done.error());
}

int tag(const engine::TextModel& model, size_t head) {
  TruncationCounter truncated;
  const auto done = for_each_row([&](const json::Value& row) -> Result<std::string> {
    SIGNALBOX_TRY(const std::string_view text, string_member(row, "text"));
    SIGNALBOX_TRY(auto marked, mark_spans(model, head, text));
    truncated.add(!marked.whole);
    return to_json(text, signals::keep_surest(std::move(marked.spans)));
  });
  truncated.print("tag", windows_limit(model));
  return done ? kExitOk : report(done.error());
}

int tag_command(int argc, char** argv) {
  cxxopts::Options options(
      "signalbox tag",
      "Reads lines {\"text\": ...} and writes {\"entities\": [{\"type\", \"start\", \"end\", "
      "\"text\", "
      "\"score\"}]}.\nOffsets count Unicode code points; the end is exclusive. A long text is read "
      "in windows, as the\nrouter does. With --rules, each entity has a \"source\" (rule, model or "
      "both).");
  add_model_options(options);
  auto add = options.add_options();
  add("labels",
      "types that a GLiNER model marks, in words, separated by commas: \"person,phone number\"",
      cxxopts::value<std::string>(), "LABELS");
  add("threshold", "least probability of a span of a GLiNER model (default 0.5)",
      cxxopts::value<Number>(), "P");
  add("rules",
      "join the result with personal data and secrets found by rules (default for "
      "a model called pii; --rules=false turns it off)",
      cxxopts::value<bool>());
  return with_model(
      options, argc, argv, [](const cxxopts::ParseResult& parsed, const engine::TextModel& model) {
        if (parsed.count("threshold") > 0 && parsed.count("labels") == 0) {
          std::fputs("signalbox tag: --threshold takes --labels\n", stderr);
          return kExitUsage;
        }
        const auto head = chosen_head(parsed, model, engine::HeadKind::kTokens);
        const bool rules = parsed.count("rules") > 0
                               ? parsed["rules"].as<bool>()
                               : has_rules_by_default(parsed["model"].as<std::string>());
        if (!head) return report(head.error());
        return rules ? tag_with_rules(model, *head) : tag(model, *head);
      });
}

}  // namespace

const Command kTagCommand = {"tag", "marks entities in texts", tag_command};

}  // namespace signalbox::tools
