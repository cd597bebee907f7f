// `signalbox embed`: reads texts and writes sentence embeddings.

#include <cstdio>
#include <cxxopts.hpp>

#include "base/json_writer.h"
#include "engine/engine.h"
#include "engine/model_path.h"
#include "engine/prompts.h"
#include "tools/command.h"
#include "tools/hub/receipt.h"
#include "tools/jsonl.h"
#include "tools/options.h"
#include "weights/manifest.h"

namespace signalbox::tools {
namespace {

int embed(const engine::TextModel& model, const std::string& prompt,
          const engine::EmbedOptions& embed_options) {
  std::string prompted;
  std::vector<float> embedding(embed_options.dim != 0 ? embed_options.dim : model.dim());
  const auto done = for_each_row([&](const json::Value& row) -> Result<std::string> {
    SIGNALBOX_TRY(const std::string_view text, string_member(row, "text"));
    prompted.assign(prompt).append(text);
    const std::string_view input = prompted;
    SIGNALBOX_TRY_VOID(model.embed({&input, 1}, embed_options, embedding));
    return json::Writer().begin_object().member("embedding", embedding).end_object().take();
  });
  return done ? kExitOk : report(done.error());
}

// Returns the prompts that the list of models has, for repositories that state theirs on their card
// alone. A pulled model is found by its repository, any other by the name of its directory.
Result<engine::Prompts> listed_prompts(const std::filesystem::path& directory) {
  SIGNALBOX_TRY(const auto receipt, read_receipt(directory));
  SIGNALBOX_TRY(const weights::Manifest list, weights::Manifest::built_in());
  const std::string name = (directory / "").lexically_normal().parent_path().filename().string();
  const weights::ManifestModel* const model =
      receipt ? list.find_repository(receipt->id) : list.find(name);
  if (model == nullptr || (!receipt && model->name != name)) return engine::Prompts();
  return engine::Prompts{.texts = model->prompts};
}

// Returns the text that the model's card puts in front of a query or a passage. Without --as it is
// the model's default prompt, which most models do not have.
Result<std::string> read_prompt(const cxxopts::ParseResult& parsed) {
  const auto& name = parsed["model"].as<std::string>();
  SIGNALBOX_TRY(const engine::ModelPath place, engine::find_model(model_directory(name)));
  SIGNALBOX_TRY(engine::Prompts prompts, engine::read_prompts(place.trunk));
  if (parsed.count("as") == 0) return prompts.by_default();
  const auto& role = parsed["as"].as<std::string>();
  if (role != "query" && role != "passage")
    return fail(Code::kInvalid, "--as: expected query or passage, found \"{}\"", role);
  if (!prompts.has_any()) {
    SIGNALBOX_TRY(engine::Prompts listed, listed_prompts(place.trunk));
    if (listed.has_any()) prompts = std::move(listed);
  }
  if (prompts.texts.empty()) {
    return fail(Code::kInvalid,
                "--as: the model has no prompts in {}, and the list of models has none for it",
                (place.trunk / engine::kPromptsFile).string());
  }
  return role == "query" ? prompts.of_query() : prompts.of_passage();
}

Result<engine::Pooling> parse_pooling(std::string_view name) {
  if (name == "mean") return engine::Pooling::kMean;
  if (name == "cls") return engine::Pooling::kFirst;
  if (name == "last") return engine::Pooling::kLast;
  if (name == "max") return engine::Pooling::kMax;
  return fail(Code::kInvalid, "--pooling: expected mean, cls, last or max, found \"{}\"", name);
}

// Returns a count of at least one, or 0 if the option is absent.
Result<int32_t> parse_count(const cxxopts::ParseResult& parsed, const char* name) {
  if (parsed.count(name) == 0) return 0;
  const auto value = parsed[name].as<int32_t>();
  if (value < 1) return fail(Code::kInvalid, "--{}: expected at least 1, found {}", name, value);
  return value;
}

Result<engine::EmbedOptions> read_embed_options(const cxxopts::ParseResult& parsed) {
  engine::EmbedOptions out;
  SIGNALBOX_TRY(out.dim, parse_count(parsed, "dim"));
  SIGNALBOX_TRY(out.layers, parse_count(parsed, "layers"));
  if (parsed.count("pooling") != 0) {
    SIGNALBOX_TRY(out.pooling, parse_pooling(parsed["pooling"].as<std::string>()));
  }
  return out;
}

int embed_command(int argc, char** argv) {
  cxxopts::Options options(
      "signalbox embed",
      "Reads lines {\"text\": ...} and writes {\"embedding\": [...]}, L2-normalised.");
  add_model_options(options);
  auto add = options.add_options();
  add("as",
      "query or passage: put the model's own prompt for this kind of text "
      "(config_sentence_transformers.json, otherwise `models list --json`) in front",
      cxxopts::value<std::string>(), "KIND");
  add("dim", "keep the first N numbers, for models trained for this (matryoshka)",
      cxxopts::value<int32_t>(), "N");
  add("layers", "stop after N layers of the network", cxxopts::value<int32_t>(), "N");
  add("pooling",
      "mean, cls, last or max; default: the model's own setting; without one, last for causal "
      "models "
      "and mean for others",
      cxxopts::value<std::string>(), "HOW");
  return with_model(options, argc, argv,
                    [](const cxxopts::ParseResult& parsed, const engine::TextModel& model) {
                      const auto prompt = read_prompt(parsed);
                      const auto embed_options = read_embed_options(parsed);
                      if (prompt && embed_options) return embed(model, *prompt, *embed_options);
                      const Error& error = prompt ? embed_options.error() : prompt.error();
                      std::fprintf(stderr, "signalbox embed: %s\n", error.message.c_str());
                      return kExitUsage;
                    });
}

}  // namespace

const Command kEmbedCommand = {"embed", "computes sentence embeddings of texts", embed_command};

}  // namespace signalbox::tools
