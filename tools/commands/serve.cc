// `signalbox serve`: the daemon, from reading its configuration to a graceful shutdown.

#include <fmt/ranges.h>
#include <malloc.h>
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
#include "router/rpc/client.h"
#include "tools/command.h"
#include "tools/jsonl.h"
#include "tools/options.h"

namespace signalbox::tools {
namespace {

/// The C library keeps up to 64 MB of freed memory for each thread once a block of 32 MB was freed,
/// and the process then holds more than the bound on bodies counts. With these limits, blocks from
/// kMappedBytes up go back to the system at once, and of the memory of smaller blocks at most
/// kKeptBytes stay free at the end of a heap.
constexpr int kMappedBytes = 4 << 20, kKeptBytes = 1 << 20;

constexpr const char* kDefaultConfig = "deploy/config/default.yaml";

/// Receives SIGINT and SIGTERM (shut down) and SIGHUP (reload the configuration) with sigwait()
/// alone, so no handler runs and no system call is interrupted.
class Signals {
 public:
  /// Must be constructed before any thread starts, so that all threads inherit the mask.
  Signals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGHUP);
    sigaddset(&set_, SIGINT);
    sigaddset(&set_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    std::signal(SIGPIPE, SIG_IGN);  // a write to a disconnected client returns an error instead
  }
  int wait() const {
    int received = 0;
    sigwait(&set_, &received);
    return received;
  }
  /// Restores the default actions, so that the next SIGINT or SIGTERM ends the process at once.
  void let_through() const {
    std::signal(SIGHUP, SIG_IGN);
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &set_, nullptr);
  }

 private:
  sigset_t set_{};
};

int serve(const std::filesystem::path& file, std::optional<config::MissingModels> missing) {
  mallopt(M_MMAP_THRESHOLD, kMappedBytes);
  mallopt(M_TRIM_THRESHOLD, kKeptBytes);
  const auto begin = std::chrono::steady_clock::now();
  rpc::use_system_resolver();
  const Signals signals;
  log::write_behind();
  auto text = read_file(file, config::kFileBytesMax);
  if (!text) return report(text.error());
  config::Inspection inspection = config::inspect(*text, file.string());
  for (const std::string& notice : inspection.notices) {
    log::warn("config", "notice: {}", notice);
  }
  if (!inspection.config) return report(inspection.config.error());
  // All configurations that the daemon loads during its life share this cache.
  const auto cache =
      std::make_shared<models::ModelCache>(models::open_served(inspection.config->http));
  const auto open = [cache, missing](const config::Config& config) {
    return models::open_models(
        config, models::MissingModels::of(missing.value_or(config.missing_models), true),
        [cache](const std::string& directory) { return cache->get(directory); });
  };
  auto daemon = daemon::Daemon::start(*std::move(inspection.config), open,
                                      {file, *std::move(text), std::move(inspection.notices)});
  if (!daemon) return report(daemon.error());
  for (const std::string& notice : (*daemon)->notices()) {
    log::warn("config", "notice: {}", notice);
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  log::info("serve", "ready in {} ms: {}",
            std::chrono::duration_cast<std::chrono::milliseconds>(took).count(),
            fmt::join((*daemon)->listening(), ", "));
  // The address contains a secret, so it goes to a terminal and to no log.
  if (const std::string page = (*daemon)->dashboard();
      ::isatty(STDOUT_FILENO) != 0 && !page.empty())
    std::fprintf(stdout, "The dashboard, with the right to change the configuration: %s\n",
                 page.c_str());

  while (signals.wait() == SIGHUP) (*daemon)->reload();
  signals.let_through();
  log::info("serve", "shutting down: requests in flight may finish; a second signal aborts them");
  const bool is_drained = (*daemon)->drain();
  daemon->reset();  // may wait for a reload in progress
  if (is_drained)
    log::info("serve", "stopped");
  else
    log::warn("serve", "stopped with unfinished requests");
  return kExitOk;
}

int serve_command(int argc, char** argv) {
  cxxopts::Options options("signalbox serve", "Runs the router until SIGINT or SIGTERM.");
  auto config = cxxopts::value<std::string>();
  std::error_code ignored;
  // In a source checkout, the default configuration is used. Elsewhere there is no default.
  if (std::filesystem::exists(kDefaultConfig, ignored)) config->default_value(kDefaultConfig);
  options.add_options()("config", "configuration file", std::move(config), "FILE");
  add_missing_models(options);
  options.add_options()("log-level", "debug, info, warn or error",
                        cxxopts::value<std::string>()->default_value("info"), "LEVEL");
  options.add_options()("log-format", "json or text; default: text on a terminal, otherwise json",
                        cxxopts::value<std::string>(), "FORMAT");
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
    const std::string format_wanted = parsed.count("log-format") > 0
                                          ? parsed["log-format"].as<std::string>()
                                      : ::isatty(STDERR_FILENO) != 0 ? "text"
                                                                     : "json";
    if (auto format = log::set_format(format_wanted); !format) {
      std::fprintf(stderr, "signalbox serve: --log-format: %s\n", format.error().message.c_str());
      return kExitUsage;
    }
    const auto missing = missing_models(parsed);
    if (!missing) {
      std::fprintf(stderr, "signalbox serve: %s\n", missing.error().message.c_str());
      return kExitUsage;
    }
    return serve(parsed["config"].as<std::string>(), *missing);
  });
}

}  // namespace

const Command kServeCommand = {"serve", "runs the router", serve_command};

}  // namespace signalbox::tools
