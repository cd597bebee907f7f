// The lists of chat models change only with the configuration, so they are written once, except for
// keys that may not use everything. That of System One is written for each request.

#include "router/own_routes/models.h"

#include <algorithm>
#include <ctime>
#include <map>

#include "base/json_writer.h"
#include "router/dialects/anthropic.h"
#include "router/http/error_reply.h"

namespace signalbox::own_routes {
namespace {

constexpr std::string_view kOnePrefix = "/v1/models/";
constexpr std::string_view kNotPublished = "systemone_not_published";

/// "2026-01-31T12:00:00Z"
std::string iso_time(int64_t since_1970) {
  const std::time_t time = since_1970;
  std::tm parts{};
  gmtime_r(&time, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string describe(std::string_view name, int64_t created) {
  json::Writer out;
  out.begin_object().member("id", name).member("object", "model").member("created", created);
  return out.member("owned_by", "signalbox").end_object().take();
}

std::string describe_for_anthropic(std::string_view name, int64_t created) {
  json::Writer out;
  out.begin_object().member("type", "model").member("id", name).member("display_name", name);
  return out.member("created_at", iso_time(created)).end_object().take();
}

/// All models, and each by its name, in the form of one API.
struct Listing {
  std::string all;
  std::map<std::string, std::string> one;
};

/// The lists of both APIs.
struct Listings {
  Listing openai, anthropic;

  /// Only Anthropic's clients send this header.
  const Listing& of(const http::Headers& headers) const {
    return headers.find("anthropic-version") ? anthropic : openai;
  }
};

bool may(const std::vector<std::string>& allowed, std::string_view name) {
  return allowed.empty() || std::ranges::find(allowed, name) != allowed.end();
}

using Api = config::Entrypoint::Api;

/// The entrypoint of that API with the name; null: none.
const config::Entrypoint* find_entrypoint(const config::Config& config, Api api,
                                          std::string_view name) {
  const auto found = std::ranges::find_if(config.entrypoints, [&](const config::Entrypoint& each) {
    return each.api == api && std::ranges::find(each.model_names, name) != each.model_names.end();
  });
  return found == config.entrypoints.end() ? nullptr : &*found;
}

/// The names that a client with these headers and this key may request; null: without a key.
std::vector<std::string> names_of(const config::Config& config, const config::HeaderLookup& header,
                                  const config::ClientKey* key) {
  const std::vector<std::string> everything;
  const auto& recipes = key == nullptr ? everything : key->recipes;
  const auto& models = key == nullptr ? everything : key->models;
  std::vector<std::string> out;
  const auto add = [&out](const std::string& name) {
    if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
  };
  for (const std::string& name : config.auto_model_names) {
    const bool leads_here = may(recipes, config::kDefaultRecipe) &&
                            find_entrypoint(config, Api::kChat, name) == nullptr;
    if (recipes.empty() || leads_here) add(name);
  }
  for (const config::Entrypoint& entrypoint : config.entrypoints) {
    const auto leads_on = [&](std::string_view recipe) { return may(recipes, recipe); };
    if (entrypoint.api != Api::kChat) continue;
    if (!config::is_open_to(entrypoint, header)) continue;
    if (std::ranges::none_of(config::recipes_of(entrypoint), leads_on)) continue;
    for (const std::string& name : entrypoint.model_names) add(name);
  }
  if (!config.router.include_config_models_in_list) return out;
  for (const config::Model& model : config.providers.models) {
    const bool answers_chats = model.api_format != config::Model::ApiFormat::kSystemOne;
    if (answers_chats && may(models, model.name)) add(model.name);
  }
  return out;
}

Listings list_models(const config::Config& config, const config::HeaderLookup& header,
                     const config::ClientKey* key) {
  const auto created = static_cast<int64_t>(std::time(nullptr));
  const std::vector<std::string> names = names_of(config, header, key);
  Listings out;
  json::Writer openai, anthropic;
  openai.begin_object().member("object", "list").key("data").begin_array();
  anthropic.begin_object().key("data").begin_array();
  for (const std::string& name : names) {
    openai.raw(out.openai.one[name] = describe(name, created));
    anthropic.raw(out.anthropic.one[name] = describe_for_anthropic(name, created));
  }
  out.openai.all = openai.end_array().end_object().take();
  anthropic.end_array().member("has_more", false).key("first_id");
  names.empty() ? anthropic.null() : anthropic.string(names.front());
  anthropic.key("last_id");
  names.empty() ? anthropic.null() : anthropic.string(names.back());
  out.anthropic.all = anthropic.end_object().take();
  return out;
}

/// The lists for everybody, which are written once, or those for a key or for certain headers.
class AllListings {
 public:
  explicit AllListings(const config::Config& config)
      // Shared by the copies of the handlers and the replies in progress.
      : config_(config), all_(std::make_shared<const Listings>(list_models(config, {}, nullptr))) {}

  std::shared_ptr<const Listings> of(const http::Request& request) const {
    const config::ClientKey* key = request.key.get();
    const bool has_all = key == nullptr || (key->models.empty() && key->recipes.empty());
    const bool has_rules = std::ranges::any_of(
        config_.entrypoints, [](const config::Entrypoint& each) { return !each.rules.empty(); });
    if (has_all && !has_rules) return all_;
    const auto header = [&](std::string_view name) { return request.headers.find(name); };
    return std::make_shared<const Listings>(list_models(config_, header, key));
  }

 private:
  const config::Config& config_;
  std::shared_ptr<const Listings> all_;
};

http::Task<> send_all(http::Exchange exchange, std::shared_ptr<const Listings> listings) {
  http::Headers fields;
  fields.add("Content-Type", "application/json");
  const std::string body = listings->of(exchange.request.headers).all;
  co_await exchange.reply.send(200, fields, body);
}

http::Task<> send_one(http::Exchange exchange, std::shared_ptr<const Listings> listings) {
  // A name may contain a slash ("vllm-sr/auto"), so it is the whole rest of the path.
  const std::string name(exchange.request.path().substr(kOnePrefix.size()));
  http::Headers fields;
  const std::map<std::string, std::string>& models = listings->of(exchange.request.headers).one;
  const auto found = models.find(name);
  if (found == models.end()) {
    const Error unknown{Code::kNotFound,
                        fmt::format("the model {} does not exist", json::quote_briefly(name))};
    const http::ErrorShape shape = [](int status, std::string_view body) {
      return dialects::AnthropicDialect().refusal(status, body);
    };
    const bool anthropic = &models == &listings->anthropic.one;
    co_await http::send_error(exchange.reply, std::move(fields), unknown,
                              anthropic ? &shape : nullptr);
    co_return;
  }
  fields.add("Content-Type", "application/json");
  co_await exchange.reply.send(200, fields, found->second);
}

/// The names of System One that the client may request. "routing" is true for those of
/// entrypoints, behind which decisions choose the model.
std::string list_task_models(const config::Config& config, const http::Request& request) {
  const config::ClientKey* key = request.key.get();
  const std::vector<std::string> everything;
  const auto& recipes = key == nullptr ? everything : key->recipes;
  const auto& models = key == nullptr ? everything : key->models;
  const auto header = [&](std::string_view name) { return request.headers.find(name); };
  json::Writer out;
  out.begin_object().member("object", "list").key("data").begin_array();
  for (const std::string& name : config.listeners.front().system_one) {
    const config::Entrypoint* entrypoint = find_entrypoint(config, Api::kSystemOne, name);
    const bool is_routed = entrypoint != nullptr;
    const auto leads_on = [&](std::string_view recipe) { return may(recipes, recipe); };
    const bool is_open = is_routed
                             ? config::is_open_to(*entrypoint, header) &&
                                   std::ranges::any_of(config::recipes_of(*entrypoint), leads_on)
                             : may(models, name);
    if (!is_open) continue;
    out.begin_object().member("id", name).member("object", "model").member("api", "systemone");
    out.member("routing", is_routed).end_object();
  }
  return out.end_array().end_object().take();
}

http::Task<> send_task_models(http::Exchange exchange, const config::Config& config) {
  http::Headers fields;
  if (config.listeners.empty() || config.listeners.front().system_one.empty()) {
    co_await http::send_refusal(exchange.reply, std::move(fields), 404,
                                "the file names no systemone.models", kNotPublished);
    co_return;
  }
  fields.add("Content-Type", "application/json");
  const std::string body = list_task_models(config, exchange.request);
  co_await exchange.reply.send(200, fields, body);
}

}  // namespace

std::vector<http::Route> model_routes(const config::Config& config) {
  const AllListings listings(config);
  auto all = [listings](http::Exchange exchange) {
    return send_all(exchange, listings.of(exchange.request));
  };
  auto one = [listings](http::Exchange exchange) {
    return send_one(exchange, listings.of(exchange.request));
  };
  auto tasks = [&config](http::Exchange exchange) { return send_task_models(exchange, config); };
  return {{"GET", "/v1/models", std::move(all)},
          {"GET", std::string(kOnePrefix), std::move(one)},
          {"GET", fmt::format("{}/models", config::kSystemOnePath), std::move(tasks)}};
}

}  // namespace signalbox::own_routes
