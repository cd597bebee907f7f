// The list changes only with the configuration, so it is written once.

#include "router/gateway/models.h"

#include <ctime>
#include <map>

#include "base/json_writer.h"
#include "router/http/error_reply.h"

namespace signalbox::gateway {
namespace {

constexpr std::string_view kOnePrefix = "/v1/models/";

std::string describe(std::string_view name, int64_t created) {
  json::Writer out;
  out.begin_object().member("id", name).member("object", "model").member("created", created);
  return out.member("owned_by", "signalbox").end_object().take();
}

http::Task<> send_one(http::Exchange exchange,
                      std::shared_ptr<const std::map<std::string, std::string>> models) {
  // A name may contain a slash ("vllm-sr/auto"), so it is the whole rest of the path.
  const std::string name(exchange.request.path().substr(kOnePrefix.size()));
  http::Headers fields;
  const auto found = models->find(name);
  if (found == models->end()) {
    const Error unknown{Code::kNotFound,
                        fmt::format("the model {} does not exist", json::quote_briefly(name))};
    co_await http::send_error(exchange.reply, std::move(fields), unknown);
    co_return;
  }
  fields.add("Content-Type", "application/json");
  co_await exchange.reply.send(200, fields, found->second);
}

}  // namespace

std::vector<http::Route> model_routes(const config::Config& config) {
  const auto created = static_cast<int64_t>(std::time(nullptr));
  // Shared by the copies of the handler and the replies in progress.
  auto models = std::make_shared<std::map<std::string, std::string>>();
  json::Writer list;
  list.begin_object().member("object", "list").key("data").begin_array();
  const auto add = [&](const std::string& name) {
    const auto [model, added] = models->emplace(name, describe(name, created));
    if (added) list.raw(model->second);
  };
  for (const std::string& name : config.auto_model_names) add(name);
  for (const config::Entrypoint& entrypoint : config.entrypoints) {
    for (const std::string& name : entrypoint.model_names) add(name);
  }
  for (const config::Model& model : config.providers.models) add(model.name);
  list.end_array().end_object();
  auto one = [models](http::Exchange exchange) { return send_one(exchange, models); };
  return {{"GET", "/v1/models", http::fixed_json(list.take())},
          {"GET", std::string(kOnePrefix), std::move(one)}};
}

}  // namespace signalbox::gateway
