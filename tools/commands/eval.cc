// `signalbox eval`: how well a configuration does what is expected of it.

#include <cstdio>
#include <cxxopts.hpp>

#include "router/config/load.h"
#include "tools/command.h"
#include "tools/jsonl.h"
#include "tools/options.h"
#include "tools/route_probes.h"

namespace signalbox::tools {
namespace {

struct Choices {
  std::string config;
  std::string probes;
  std::string embedder;  // "": the configuration's
  bool json = false;
};

Result<ProbeReport> evaluate(const Choices& choices) {
  SIGNALBOX_TRY(config::Loaded loaded, config::load(choices.config));
  if (!choices.embedder.empty())
    loaded.config.embedding_model.path = model_directory(choices.embedder).string();
  // Nobody is served here; what is unavailable is told.
  SIGNALBOX_TRY(router::Models models,
                router::open_models(loaded.config, router::MissingModels::kLeaveOut,
                                    router::open_directly(loaded.config.http)));
  const std::vector<std::string>& names = loaded.config.auto_model_names;
  const std::string model = names.empty() ? "auto" : names.front();
  SIGNALBOX_TRY(const auto router,
                router::Router::create(std::move(loaded.config), std::move(models)));
  for (const std::string& notice : router->notices()) std::fprintf(stderr, "%s\n", notice.c_str());
  SIGNALBOX_TRY(const std::vector<Probe> probes, load_probes(choices.probes, model));
  return run_probes(*router, probes);
}

int eval_route(const Choices& choices) {
  const auto report_or_error = evaluate(choices);
  if (!report_or_error) return report(report_or_error.error());
  const std::string text = choices.json ? probe_report_json(*report_or_error) + "\n"
                                        : probe_report_words(*report_or_error);
  std::fputs(text.c_str(), stdout);
  return report_or_error->failures.empty() ? kExitOk : kExitFailure;
}

int run(int argc, char** argv) {
  cxxopts::Options options(
      "signalbox eval",
      "Evaluates every probe of a file and says which pass: by decision, signal, projection, "
      "algorithm, plugin and tag, with the conditions that each failure comes from. Exit code 1 "
      "when one fails.");
  options.add_options()("task", "route", cxxopts::value<std::string>()->default_value("route"))(
      "config", "configuration file", cxxopts::value<std::string>())(
      "probes", "file of probes (YAML)", cxxopts::value<std::string>())(
      "embedder", "embedding model instead of the configuration's: a directory or a name",
      cxxopts::value<std::string>()->default_value(""))("json", "for programs");
  return with_options(
      options, argc, argv, {"config", "probes"}, [](const cxxopts::ParseResult& parsed) {
        const auto& task = parsed["task"].as<std::string>();
        if (task != "route") {
          std::fprintf(stderr, "signalbox eval: --task: expected route, found \"%s\"\n",
                       task.c_str());
          return kExitUsage;
        }
        return eval_route({.config = parsed["config"].as<std::string>(),
                           .probes = parsed["probes"].as<std::string>(),
                           .embedder = parsed["embedder"].as<std::string>(),
                           .json = parsed.count("json") > 0});
      });
}

}  // namespace

const Command kEvalCommand = {"eval", "how well a configuration routes a file of probes", run};

}  // namespace signalbox::tools
