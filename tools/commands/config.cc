// `signalbox config check|migrate|schema|reference`: reports errors and unsupported parts of a
// configuration file, converts an older file to v0.3, or prints the format for editors and for
// people.

#include <fmt/ranges.h>

#include <cstdio>
#include <cxxopts.hpp>
#include <string>
#include <vector>

#include "base/counted.h"
#include "router/config/load.h"
#include "router/daemon/check.h"
#include "router/models/models.h"
#include "tools/command.h"
#include "tools/jsonl.h"
#include "tools/options.h"

namespace signalbox::tools {
namespace {

// Such as "3 decisions", or "3 decisions in 2 recipes (alpha, beta)".
std::string decisions_of(const config::Config& config) {
  size_t decisions = config.routing.decisions.size();
  std::vector<std::string_view> names;
  for (const config::Recipe& recipe : config.recipes) {
    decisions += recipe.routing.decisions.size();
    names.push_back(recipe.name);
  }
  std::string out = counted(decisions, "decision");
  if (names.empty()) return out;
  return fmt::format("{} in {}{} ({})", out,
                     config.routing.decisions.empty() ? "" : "the routing at the top and ",
                     counted(names.size(), "recipe"), fmt::join(names, ", "));
}

// Reports the errors and the notices of a start.
int check(const std::string& path, const config::LoadOptions& load_options) {
  config::Inspection inspection = config::inspect(path, load_options);
  std::vector<std::string> notices = std::move(inspection.notices);
  const auto add = [&notices](const std::vector<std::string>& more) {
    notices.insert(notices.end(), more.begin(), more.end());
  };
  Result<std::vector<std::string>> checked;
  if (inspection.config) {
    add(models::missing_model_notices(*inspection.config));
    checked = daemon::check(*inspection.config, load_options.keys_required);
    if (checked) add(*checked);
  }
  for (const std::string& notice : notices) std::printf("%s\n", notice.c_str());
  if (!inspection.config) {
    std::fprintf(stderr, "%s\n", inspection.config.error().message.c_str());
    return kExitFailure;
  }
  if (!checked) return report(checked.error());
  const std::string found = fmt::format(
      "{}: ok: {}, {}, {}\n", path, counted(inspection.config->providers.models.size(), "model"),
      decisions_of(*inspection.config), counted(notices.size(), "notice"));
  std::fputs(found.c_str(), stderr);
  return kExitOk;
}

int migrate(const std::string& path) {
  const auto migrated = config::migrate_file(path);
  if (!migrated) {
    std::fprintf(stderr, "%s\n", migrated.error().message.c_str());
    return kExitFailure;
  }
  for (const std::string& notice : migrated->notices) std::fprintf(stderr, "%s\n", notice.c_str());
  std::fputs(migrated->text.c_str(), stdout);
  return kExitOk;
}

int print(const std::string& document) {
  std::fputs(document.c_str(), stdout);
  return kExitOk;
}

int config_command(int argc, char** argv) {
  cxxopts::Options options(
      "signalbox config",
      "Checks a configuration file, converts an older one to v0.3, or prints the format as JSON "
      "Schema or as a page.");
  options.positional_help("check FILE | migrate FILE | schema | reference");
  options.add_options()("strict", "check: treat unknown keys as errors")(
      "without-keys",
      "check: do not require the variables that contain keys of servers and tokens, nor "
      "certificates")("words", "check FILE, migrate FILE, schema or reference",
                      cxxopts::value<std::vector<std::string>>());
  options.parse_positional("words");
  return with_options(options, argc, argv, {"words"}, [](const cxxopts::ParseResult& parsed) {
    const auto words = parsed["words"].as<std::vector<std::string>>();
    if (words.size() == 2 && words[0] == "check")
      return check(words[1], {.strict = parsed.count("strict") > 0,
                              .keys_required = parsed.count("without-keys") == 0});
    if (words.size() == 2 && words[0] == "migrate") return migrate(words[1]);
    if (words.size() == 1 && words[0] == "schema") return print(config::schema() + "\n");
    if (words.size() == 1 && words[0] == "reference") return print(config::reference());
    std::string found;
    for (const std::string& word : words) found += (found.empty() ? "" : " ") + word;
    const std::string mistake = fmt::format(
        "signalbox config: expected \"check FILE\", \"migrate FILE\", \"schema\" or "
        "\"reference\", found \"{}\"; see `signalbox config --help`\n",
        found);
    std::fputs(mistake.c_str(), stderr);
    return kExitUsage;
  });
}

}  // namespace

const Command kConfigCommand = {
    "config", "checks or migrates a configuration file, or prints the format", config_command};

}  // namespace signalbox::tools
