// `signalbox run`: passes token ids or texts through a model and writes its raw numbers.

#include <cstdio>
#include <cxxopts.hpp>

#include "base/json_writer.h"
#include "engine/engine.h"
#include "tools/command.h"
#include "tools/jsonl.h"
#include "tools/options.h"

namespace signalbox::tools {
namespace {

Result<std::vector<int32_t>> ids_of(const engine::TextModel& model, const json::Value& row) {
  const auto ids = row.find("ids");
  if (!ids) {
    SIGNALBOX_TRY(const std::string_view text, string_member(row, "text"));
    return model.encode(text);
  }
  if (!ids->is_array()) return fail(Code::kInvalid, "ids: expected an array of integers");
  std::vector<int32_t> out;
  for (const json::Value& item : ids->items()) {
    const auto id = item.integer();
    if (!id || *id < INT32_MIN || *id > INT32_MAX) {
      return fail(Code::kInvalid, "ids[{}]: expected a token id, found {}", out.size(),
                  item.raw().substr(0, 64));
    }
    out.push_back(static_cast<int32_t>(*id));
  }
  return out;
}

// Writes [[...], ...], with `width` numbers in each inner array.
void write_rows(std::span<const float> values, size_t width, json::Writer& out) {
  out.begin_array();
  for (size_t begin = 0; begin < values.size(); begin += width) {
    out.begin_array();
    for (const float x : values.subspan(begin, width)) out.number(x);
    out.end_array();
  }
  out.end_array();
}

std::string to_json(const engine::TextModel& model, const engine::States& states, bool hidden) {
  json::Writer out;
  out.begin_object();
  if (!states.logits.empty()) {
    const engine::HeadInfo& head = model.heads()[0];
    out.key("logits");
    if (head.kind == engine::HeadKind::kTokens) {
      write_rows(states.logits[0], head.labels.size(), out);
    } else {
      out.begin_array();
      for (const float x : states.logits[0]) out.number(x);
      out.end_array();
    }
  }
  if (hidden) {
    out.key("last_hidden_state");
    write_rows(states.last_hidden_state, model.hidden(), out);
  }
  return out.end_object().take();
}

int run_model(const engine::TextModel& model, bool hidden) {
  if (model.heads().empty() && !hidden) {
    return report(
        {Code::kInvalid,
         "the model has no head that returns logits; use --hidden to write its hidden states"});
  }
  const auto done = for_each_row([&](const json::Value& row) -> Result<std::string> {
    SIGNALBOX_TRY(const std::vector<int32_t> ids, ids_of(model, row));
    SIGNALBOX_TRY(const engine::States states, model.states(ids));
    return to_json(model, states, hidden);
  });
  return done ? kExitOk : report(done.error());
}

int run_command(int argc, char** argv) {
  cxxopts::Options options("signalbox run",
                           "Reads lines {\"ids\": [...]} or {\"text\": ...} and writes "
                           "{\"logits\": [...]}, or [[...], ...]"
                           "\nwith one row per token for a head that labels tokens.");
  add_model_options(options);
  options.add_options()("hidden", "also write \"last_hidden_state\", one row per token");
  return with_model(options, argc, argv,
                    [](const cxxopts::ParseResult& parsed, const engine::TextModel& model) {
                      return run_model(model, parsed.count("hidden") != 0);
                    });
}

}  // namespace

const Command kRunCommand = {"run", "computes logits and hidden states of token ids or texts",
                             run_command};

}  // namespace signalbox::tools
