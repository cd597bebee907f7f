// `signalbox config check FILE`: what is wrong with a configuration file, and what of it is not
// built.

#include <cstdio>
#include <cxxopts.hpp>
#include <string>
#include <vector>

#include "router/config/load.h"
#include "tools/command.h"
#include "tools/options.h"

namespace signalbox::tools {
namespace {

int check(const std::string& path, bool strict) {
  const auto loaded = config::load(path, {.strict = strict});
  if (!loaded) {
    std::fprintf(stderr, "%s\n", loaded.error().message.c_str());
    return kExitFailure;
  }
  for (const std::string& notice : loaded->notices) std::printf("%s\n", notice.c_str());
  std::fprintf(stderr, "%s: ok: %zu models, %zu decisions, %zu notices\n", path.c_str(),
               loaded->config.providers.models.size(), loaded->config.routing.decisions.size(),
               loaded->notices.size());
  return kExitOk;
}

int run(int argc, char** argv) {
  cxxopts::Options options(
      "signalbox config",
      "Says what is wrong with a configuration file and what of it is not built.");
  options.positional_help("check FILE");
  options.add_options()("strict", "an unknown key is an error")(
      "words", "check FILE", cxxopts::value<std::vector<std::string>>());
  options.parse_positional("words");
  return with_options(options, argc, argv, {"words"}, [](const cxxopts::ParseResult& parsed) {
    const auto words = parsed["words"].as<std::vector<std::string>>();
    if (words.size() == 2 && words[0] == "check")
      return check(words[1], parsed.count("strict") > 0);
    std::fputs("signalbox config: expected \"check FILE\"; see `signalbox config --help`\n",
               stderr);
    return kExitUsage;
  });
}

}  // namespace

const Command kConfigCommand = {"config", "checks a configuration file", run};

}  // namespace signalbox::tools
