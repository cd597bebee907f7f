#pragma once
// Starts a daemon from the text of a configuration, for tests over sockets.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string_view>

#include "router/config/load.h"
#include "router/daemon/serve.h"

namespace signalbox::test {

inline Result<models::Models> no_models(const config::Config&) {
  return models::Models{};
}

/// Returns null and reports a test failure if the daemon does not start. `adjust` changes the
/// configuration first.
inline std::unique_ptr<daemon::Daemon> started(
    std::string_view text, const std::function<void(config::Config&)>& adjust = {},
    models::OpenModels open = no_models) {
  auto loaded = config::parse(text, "test.yaml");
  if (!loaded) {
    ADD_FAILURE() << loaded.error().message;
    return nullptr;
  }
  if (adjust) adjust(loaded->config);
  auto daemon = daemon::Daemon::start(std::move(loaded->config), std::move(open));
  if (!daemon) ADD_FAILURE() << daemon.error().message;
  return daemon ? *std::move(daemon) : nullptr;
}

/// Sets the only server of the only model.
inline std::function<void(config::Config&)> served_at(uint16_t port) {
  return [port](config::Config& config) {
    config.providers.models.back().backend_refs.front().port = port;
  };
}

}  // namespace signalbox::test
