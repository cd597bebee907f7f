// `signalbox serve`: the daemon, from its configuration to a quiet end.

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cxxopts.hpp>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "base/log.h"
#include "router/config/load.h"
#include "router/daemon/serve.h"
#include "tools/command.h"
#include "tools/jsonl.h"
#include "tools/options.h"

namespace signalbox::tools {
namespace {

constexpr const char* kDefaultConfig = "deploy/config/default.yaml";

/// SIGINT and SIGTERM to end, SIGHUP to read the configuration again, taken by sigwait() alone: no
/// handler, no interrupted system call.
class Signals {
 public:
  /// Before any thread is started, so that all of them inherit the mask.
  Signals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGHUP);
    sigaddset(&set_, SIGINT);
    sigaddset(&set_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    std::signal(SIGPIPE, SIG_IGN);  // a client that has gone is an error of the write
  }
  int wait() const {
    int received = 0;
    sigwait(&set_, &received);
    return received;
  }
  /// The next one that asks for the end brings it at once.
  void let_through() const {
    std::signal(SIGHUP, SIG_IGN);
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &set_, nullptr);
  }

 private:
  sigset_t set_{};
};

int serve(const std::filesystem::path& file, models::MissingModels missing) {
  const auto begin = std::chrono::steady_clock::now();
  const Signals signals;
  log::write_behind();
  auto text = read_file(file, config::kFileBytesMax);
  if (!text) return report(text.error());
  config::Inspection inspection = config::inspect(*text, file.string());
  for (const std::string& notice : inspection.notices) {
    log::info("config", "notice: {}", notice);
  }
  if (!inspection.config) return report(inspection.config.error());
  // Shared by all configurations that the daemon reads in its life.
  const auto cache =
      std::make_shared<models::ModelCache>(models::open_served(inspection.config->http));
  const auto open = [cache, missing](const config::Config& config) {
    return models::open_models(
        config, missing, [cache](const std::string& directory) { return cache->get(directory); });
  };
  auto daemon =
      daemon::Daemon::start(*std::move(inspection.config), open, {file, *std::move(text)});
  if (!daemon) return report(daemon.error());
  for (const std::string& notice : (*daemon)->notices()) {
    log::info("config", "notice: {}", notice);
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  std::string line = fmt::format(
      "ready in {} ms:", std::chrono::duration_cast<std::chrono::milliseconds>(took).count());
  for (const std::string& listener : (*daemon)->listening()) line += "  " + listener;
  log::info("serve", "{}", line);

  while (signals.wait() == SIGHUP) (*daemon)->reload();
  signals.let_through();
  log::info("serve", "ending: requests in flight may finish; a second signal ends them");
  if (!(*daemon)->drain()) log::warn("serve", "ending with requests unfinished");
  return kExitOk;
}

int serve_command(int argc, char** argv) {
  cxxopts::Options options("signalbox serve", "Runs the router until SIGINT or SIGTERM.");
  auto config = cxxopts::value<std::string>();
  std::error_code ignored;
  // In a checkout the default configuration is meant; anywhere else none is guessed.
  if (std::filesystem::exists(kDefaultConfig, ignored)) config->default_value(kDefaultConfig);
  options.add_options()("config", "configuration file", std::move(config));
  options.add_options()("missing-models",
                        "refuse, or ignore: serve although decisions rest on models that are not "
                        "there; conditions on their signals, guards too, then never match",
                        cxxopts::value<std::string>()->default_value("refuse"));
  options.add_options()("log-level", "debug, info, warn or error",
                        cxxopts::value<std::string>()->default_value("info"));
  options.add_options()(
      "log-format", "json, or text, which is the default on a terminal",
      cxxopts::value<std::string>()->default_value(::isatty(STDERR_FILENO) != 0 ? "text" : "json"));
  return with_options(options, argc, argv, {}, [](const cxxopts::ParseResult& parsed) {
    if (parsed.count("config") == 0 && !parsed["config"].has_default()) {
      std::fprintf(
          stderr,
          "signalbox serve: --config is missing, and there is no %s here; name a file, or see "
          "`signalbox serve --help`\n",
          kDefaultConfig);
      return kExitUsage;
    }
    if (auto level = log::set_level(parsed["log-level"].as<std::string>()); !level) {
      std::fprintf(stderr, "signalbox serve: --log-level: %s\n", level.error().message.c_str());
      return kExitUsage;
    }
    if (auto format = log::set_format(parsed["log-format"].as<std::string>()); !format) {
      std::fprintf(stderr, "signalbox serve: --log-format: %s\n", format.error().message.c_str());
      return kExitUsage;
    }
    const auto& missing = parsed["missing-models"].as<std::string>();
    if (missing != "refuse" && missing != "ignore") {
      std::fprintf(stderr,
                   "signalbox serve: --missing-models: expected refuse or ignore, found \"%s\"\n",
                   missing.c_str());
      return kExitUsage;
    }
    return serve(parsed["config"].as<std::string>(), missing == "ignore"
                                                         ? models::MissingModels::kLeaveOut
                                                         : models::MissingModels::kRefuse);
  });
}

}  // namespace

const Command kServeCommand = {"serve", "the daemon", serve_command};

}  // namespace signalbox::tools
