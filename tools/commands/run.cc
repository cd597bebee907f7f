// `signalbox run`: token ids or texts through an encoder, hidden states out.

#include <cstdio>
#include <cxxopts.hpp>
#include <iostream>

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

// {"last_hidden_state": [[...], ...]} with one row a token.
std::string hidden_state_row(std::span<const float> states, size_t hidden) {
  json::Writer out;
  out.begin_object().key("last_hidden_state").begin_array();
  for (size_t begin = 0; begin < states.size(); begin += hidden) {
    out.begin_array();
    for (const float x : states.subspan(begin, hidden)) out.number(x);
    out.end_array();
  }
  return out.end_array().end_object().take();
}

int run_model(const std::filesystem::path& directory) {
  const auto model = engine::TextModel::open(directory);
  if (!model) return report(model.error());
  const auto done = for_each_row(std::cin, [&](const json::Value& row) -> Result<std::string> {
    SIGNALBOX_TRY(const std::vector<int32_t> ids, ids_of(**model, row));
    SIGNALBOX_TRY(const std::vector<float> states, (*model)->last_hidden_state(ids));
    return hidden_state_row(states, (*model)->hidden());
  });
  return done ? kExitOk : report(done.error());
}

int run(int argc, char** argv) {
  cxxopts::Options options(
      "signalbox run",
      "Reads lines {\"ids\": [...]} or {\"text\": ...}, writes {\"last_hidden_state\": "
      "[[...], ...]}.");
  options.add_options()("model", "model directory or the name of a pulled model",
                        cxxopts::value<std::string>());
  options.add_options()(
      "hidden", "write the last hidden states (this version has no heads to write logits of)");
  return with_options(options, argc, argv, {"model"}, [](const cxxopts::ParseResult& parsed) {
    return run_model(model_directory(parsed["model"].as<std::string>()));
  });
}

}  // namespace

const Command kRunCommand = {"run", "hidden states of token ids or texts", run};

}  // namespace signalbox::tools
