// `signalbox embed`: texts in, sentence embeddings out.

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

int embed(const std::filesystem::path& directory) {
  const auto model = engine::TextModel::open(directory);
  if (!model) return report(model.error());
  std::vector<float> embedding((*model)->dim());
  const auto done = for_each_row(std::cin, [&](const json::Value& row) -> Result<std::string> {
    SIGNALBOX_TRY(const std::string_view text, string_member(row, "text"));
    SIGNALBOX_TRY_VOID((*model)->embed({&text, 1}, embedding));
    return json::Writer().begin_object().member("embedding", embedding).end_object().take();
  });
  return done ? kExitOk : report(done.error());
}

int run(int argc, char** argv) {
  cxxopts::Options options(
      "signalbox embed",
      "Reads lines {\"text\": ...}, writes {\"embedding\": [...]}, L2-normalised.");
  options.add_options()("model", "model directory or the name of a pulled model",
                        cxxopts::value<std::string>());
  return with_options(options, argc, argv, {"model"}, [](const cxxopts::ParseResult& parsed) {
    return embed(model_directory(parsed["model"].as<std::string>()));
  });
}

}  // namespace

const Command kEmbedCommand = {"embed", "sentence embeddings of texts", run};

}  // namespace signalbox::tools
