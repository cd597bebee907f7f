// Weights are cumulated once, so that a draw is one number and a short walk.

#include "router/upstream/backends.h"

#include <algorithm>
#include <cstdlib>
#include <random>

#include "router/upstream/echo_backend.h"
#include "router/upstream/http_backend.h"

namespace signalbox::upstream {
namespace {

std::unique_ptr<const Backend> make(const config::Config& config, const config::Model& model,
                                    const config::BackendRef& ref,
                                    std::vector<std::string>& notices) {
  if (ref.type == "echo") return std::make_unique<EchoBackend>(model.name);
  const auto note = [&](std::string what) {
    notices.push_back(fmt::format("model \"{}\": backend \"{}\": {}", model.name, ref.name, what));
  };
  if (ref.tls) note("https is not built yet; requests to it fail");
  std::optional<std::string> key;
  if (!ref.api_key_env.empty()) {
    const char* value = std::getenv(ref.api_key_env.c_str());
    if (value != nullptr && *value != '\0') {
      key = value;
    } else {
      note(fmt::format("the environment variable {} is not set; requests go without a key",
                       ref.api_key_env));
    }
  }
  return std::make_unique<HttpBackend>(ref, config.http, std::move(key), config.authz.identity);
}

}  // namespace

Backends::Backends(const config::Config& config) {
  for (const config::Model& model : config.providers.models) {
    const bool weightless =
        std::all_of(model.backend_refs.begin(), model.backend_refs.end(),
                    [](const config::BackendRef& ref) { return ref.weight == 0; });
    uint64_t sum = 0;
    auto& choices = choices_[model.name];
    for (const config::BackendRef& ref : model.backend_refs) {
      sum += weightless ? 1 : ref.weight;
      choices.push_back({make(config, model, ref, notices_), sum});
    }
  }
}

const Backend& Backends::choose(const config::Model& model) const {
  const auto found = choices_.find(model.name);
  SIGNALBOX_CHECK(found != choices_.end() && !found->second.empty());
  const auto& choices = found->second;
  if (choices.size() == 1) return *choices.front().backend;
  thread_local std::minstd_rand random{std::random_device{}()};
  const uint64_t draw =
      std::uniform_int_distribution<uint64_t>(0, choices.back().weight_up_to - 1)(random);
  const auto drawn = std::find_if(choices.begin(), choices.end(),
                                  [&](const Choice& choice) { return draw < choice.weight_up_to; });
  return *drawn->backend;
}

}  // namespace signalbox::upstream
