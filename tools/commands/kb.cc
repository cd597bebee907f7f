// `signalbox kb check`: reads a knowledge base and reports how well its examples distinguish its
// labels.

#include <cstdio>
#include <cxxopts.hpp>
#include <filesystem>

#include "base/counted.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "router/knowledge/manifest.h"
#include "router/signals/prototypes.h"
#include "tools/command.h"
#include "tools/jsonl.h"
#include "tools/options.h"

namespace signalbox::tools {
namespace {

namespace fs = std::filesystem;

// A file, a folder with labels.json, or the name of a knowledge base that is compiled in.
Result<knowledge::Manifest> read_manifest(const std::string& name) {
  if (const std::string_view text = knowledge::built_in(name); !text.empty())
    return knowledge::parse_manifest(text, "built-in " + name);
  fs::path path = name;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) path /= "labels.json";
  SIGNALBOX_TRY(const std::string text, read_file(path, knowledge::kManifestBytesMax));
  return knowledge::parse_manifest(text, path.string());
}

struct KbExamples {
  std::vector<std::string_view> texts;
  std::vector<size_t> labels;  // (texts)
};

KbExamples examples_of(const knowledge::Manifest& manifest) {
  KbExamples out;
  for (size_t label = 0; label < manifest.labels.size(); ++label) {
    for (const std::string& text : manifest.labels[label].examples) {
      out.texts.push_back(text);
      out.labels.push_back(label);
    }
  }
  return out;
}

// Returns for each text the label of the nearest other text.
std::vector<size_t> nearest_labels(const KbExamples& examples, std::span<const float> vectors) {
  const size_t count = examples.texts.size();
  const size_t dim = vectors.size() / count;
  std::vector<size_t> out(count);
  for (size_t i = 0; i < count; ++i) {
    double best = -2;
    for (size_t j = 0; j < count; ++j) {
      if (j == i) continue;
      const double similarity =
          signals::cosine(vectors.subspan(i * dim, dim), vectors.subspan(j * dim, dim));
      if (similarity <= best) continue;
      best = similarity;
      out[i] = examples.labels[j];
    }
  }
  return out;
}

// Writes one line for each label: how many of its examples have their nearest neighbour in it, and
// the others with the label that is nearer. `nearest` is empty if there is no model.
void write_labels(const knowledge::Manifest& manifest, const KbExamples& examples,
                  std::span<const size_t> nearest) {
  for (size_t label = 0; label < manifest.labels.size(); ++label) {
    json::Writer out;
    const knowledge::Label& of = manifest.labels[label];
    out.begin_object().member("label", of.name);
    out.member("examples", static_cast<int64_t>(of.examples.size()));
    if (!nearest.empty()) {
      int64_t own = 0;
      json::Writer others;
      others.begin_array();
      for (size_t i = 0; i < nearest.size(); ++i) {
        if (examples.labels[i] != label) continue;
        if (nearest[i] == label) {
          ++own;
          continue;
        }
        others.begin_object().member("example", examples.texts[i]);
        others.member("nearest", manifest.labels[nearest[i]].name).end_object();
      }
      out.member("nearest_to_own", own).key("nearest_to_others").raw(others.end_array().take());
    }
    std::printf("%s\n", out.end_object().take().c_str());
  }
}

// `is_given`: somebody named the model, so it must be there.
Result<void> check_kb(const std::string& name, const ModelChoice& choice, bool is_given) {
  SIGNALBOX_TRY(const knowledge::Manifest manifest, read_manifest(name));
  const KbExamples examples = examples_of(manifest);
  const fs::path directory = model_directory(choice.model);
  std::vector<size_t> nearest;
  std::string quality;
  std::error_code ignored;
  std::unique_ptr<const engine::TextModel> model;
  if (is_given || fs::exists(directory, ignored)) {
    SIGNALBOX_TRY(model, open_model(choice));
  }
  if (examples.texts.size() < 2) {
    quality = "there is nothing to compare the example with";
  } else if (model == nullptr) {
    quality = fmt::format("there is no model at {}, so the examples are not compared",
                          directory.string());
  } else {
    SIGNALBOX_TRY(const std::vector<float> vectors, signals::embed_all(*model, examples.texts));
    nearest = nearest_labels(examples, vectors);
    size_t own = 0;
    for (size_t i = 0; i < nearest.size(); ++i) own += nearest[i] == examples.labels[i];
    quality =
        fmt::format("{} of {} examples are nearest to one of their own label", own, nearest.size());
  }
  write_labels(manifest, examples, nearest);
  std::fprintf(stderr, "%s: ok: %s, %s; %s\n", manifest.path.c_str(),
               counted(manifest.labels.size(), "label").c_str(),
               counted(examples.texts.size(), "example").c_str(), quality.c_str());
  return {};
}

int kb_command(int argc, char** argv) {
  cxxopts::Options options("signalbox kb",
                           "Reads a knowledge base (a file, a folder with labels.json, privacy_kb "
                           "or mmlu_kb) and writes a line for each label: its examples, and those "
                           "that lie nearer to an example of another label.");
  options.positional_help("check FILE");
  options.add_options()("words", "check FILE", cxxopts::value<std::vector<std::string>>());
  options.add_options()("model",
                        "embedding model; if the default one is not here, only the file is checked",
                        cxxopts::value<std::string>()->default_value("minilm"), "DIR");
  add_pass_options(options);
  options.parse_positional("words");
  return with_options(options, argc, argv, {"words"}, [](const cxxopts::ParseResult& parsed) {
    const auto words = parsed["words"].as<std::vector<std::string>>();
    const auto passes = pass_options(parsed);
    if (words.size() != 2 || words[0] != "check" || !passes) {
      const std::string mistake = passes ? "expected \"check FILE\"" : passes.error().message;
      std::fprintf(stderr, "signalbox kb: %s; see `signalbox kb --help`\n", mistake.c_str());
      return kExitUsage;
    }
    ModelChoice choice;
    choice.model = parsed["model"].as<std::string>();
    choice.options = *passes;
    const auto done = check_kb(words[1], choice, parsed.count("model") > 0);
    return done ? kExitOk : report(done.error());
  });
}

}  // namespace

const Command kKbCommand = {"kb", "checks a knowledge base", kb_command};

}  // namespace signalbox::tools
