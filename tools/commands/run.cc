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

// Reads an array of integers from `least` to `most`; `expected` describes one of them.
template <class Integer>
Result<std::vector<Integer>> integers_of(const json::Value& row, std::string_view name,
                                         int64_t least, int64_t most, std::string_view expected) {
  const auto values = row.find(name);
  std::vector<Integer> out;
  if (!values->is_array()) return fail(Code::kInvalid, "{}: expected an array of integers", name);
  for (const json::Value& item : values->items()) {
    const auto value = item.integer();
    if (!value || *value < least || *value > most) {
      return fail(Code::kInvalid, "{}[{}]: expected {}, found {}", name, out.size(), expected,
                  item.raw().substr(0, 64));
    }
    out.push_back(static_cast<Integer>(*value));
  }
  return out;
}

// A member that is not read would change the meaning of the row in silence.
Result<void> check_members(const json::Value& row) {
  for (const json::Member& member : row.members()) {
    if (member.key != "ids" && member.key != "type_ids" && member.key != "text") {
      return fail(Code::kInvalid, "{}: unknown member (known: ids, type_ids, text)", member.key);
    }
  }
  if (row.find("text") && row.find("ids")) {
    return fail(Code::kInvalid, "text: not together with ids");
  }
  if (row.find("type_ids") && !row.find("ids")) {
    return fail(Code::kInvalid, "type_ids: only together with ids");
  }
  return {};
}

Result<engine::States> states_of(const engine::TextModel& model, const json::Value& row) {
  SIGNALBOX_TRY_VOID(check_members(row));
  if (!row.find("ids")) {
    SIGNALBOX_TRY(const std::string_view text, string_member(row, "text"));
    SIGNALBOX_TRY(const std::vector<int32_t> ids, model.encode(text));
    return model.states(ids);
  }
  SIGNALBOX_TRY(const auto ids,
                integers_of<int32_t>(row, "ids", INT32_MIN, INT32_MAX, "a token id"));
  if (!row.find("type_ids")) return model.states(ids);
  SIGNALBOX_TRY(const auto types, integers_of<uint8_t>(row, "type_ids", 0, UINT8_MAX,
                                                       "a segment type from 0 to 255"));
  return model.states(ids, types, engine::kNoAdapter);
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
    SIGNALBOX_TRY(const engine::States states, states_of(model, row));
    return to_json(model, states, hidden);
  });
  return done ? kExitOk : report(done.error());
}

int run_command(int argc, char** argv) {
  cxxopts::Options options("signalbox run",
                           "Reads lines {\"ids\": [...]} or {\"text\": ...} and writes "
                           "{\"logits\": [...]}, or [[...], ...]"
                           "\nwith one row per token for a head that labels tokens. "
                           "\"type_ids\" beside \"ids\" are the segments of a pair.");
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
