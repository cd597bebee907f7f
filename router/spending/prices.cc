// The price follows from the model's name at its server, because a name that the operator chose
// means nothing here.

#include "router/spending/prices.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/ascii.h"
#include "base/yaml.h"

namespace signalbox::spending {
namespace {

constexpr std::string_view kEcho = "echo";

/// Returns "claude-haiku-4-5" for "claude-haiku-4-5-20251001" and "gpt-4o" for "gpt-4o-2024-08-06".
std::string_view without_date(std::string_view name) {
  constexpr size_t kCompact = sizeof("-20251001") - 1, kDashed = sizeof("-2025-10-01") - 1;
  for (const size_t size : {kCompact, kDashed}) {
    if (name.size() <= size || name[name.size() - size] != '-') continue;
    const std::string_view date = name.substr(name.size() - size);
    const bool is_date =
        std::ranges::all_of(date, [](char c) { return ascii::is_digit(c) || c == '-'; });
    if (is_date) return name.substr(0, name.size() - size);
  }
  return name;
}

Result<config::Pricing> read_prices(const yaml::Node& model) {
  config::Pricing out;
  const auto read = [&model](std::string_view key, double& to) {
    const yaml::Node* value = model.find(key);
    if (value == nullptr) return true;
    const std::string& text = value->scalar;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
    return error == std::errc() && end == text.data() + text.size() && to >= 0;
  };
  if (read("prompt_per_1m", out.prompt_per_1m) &&
      read("cached_input_per_1m", out.cached_input_per_1m) &&
      read("cache_write_per_1m", out.cache_write_per_1m) &&
      read("completion_per_1m", out.completion_per_1m) &&
      read("reasoning_per_1m", out.reasoning_per_1m) && out.prompt_per_1m > 0 &&
      out.completion_per_1m > 0)
    return out;
  return fail(Code::kInvalid, "prices.yaml:{}: expected prices of prompt and completion",
              model.line);
}

}  // namespace

const config::Pricing* PriceList::find(std::string_view model) const {
  auto found = models.find(model);
  if (found == models.end()) found = models.find(without_date(model));
  return found == models.end() ? nullptr : &found->second;
}

Result<PriceList> parse_prices(std::string_view text) {
  SIGNALBOX_TRY(const yaml::Node root, yaml::parse(text, "prices.yaml"));
  const yaml::Node *date = root.find("date"), *source = root.find("source"),
                   *models = root.find("models");
  if (date == nullptr || source == nullptr || models == nullptr)
    return fail(Code::kInvalid, "prices.yaml: expected date, source and models");
  PriceList out{date->scalar, source->scalar, {}};
  for (const yaml::Node& model : models->items) {
    const yaml::Node* name = model.find("name");
    if (name == nullptr) return fail(Code::kInvalid, "prices.yaml:{}: expected a name", model.line);
    SIGNALBOX_TRY(out.models[name->scalar], read_prices(model));
  }
  return out;
}

double cost_of(const config::Model& model, const observe::Tokens& tokens) {
  if (!model.pricing) return 0;
  const config::Pricing& price = *model.pricing;
  const auto either = [](double own, double other) { return own > 0 ? own : other; };
  const auto cached = static_cast<double>(std::min(tokens.cached, tokens.prompt));
  const auto written =
      std::min(static_cast<double>(tokens.written), static_cast<double>(tokens.prompt) - cached);
  const auto reasoning = static_cast<double>(std::min(tokens.reasoning, tokens.completion));
  return price.per_request +
         ((static_cast<double>(tokens.prompt) - cached - written) * price.prompt_per_1m +
          cached * either(price.cached_input_per_1m, price.prompt_per_1m) +
          written * either(price.cache_write_per_1m, price.prompt_per_1m) +
          (static_cast<double>(tokens.completion) - reasoning) * price.completion_per_1m +
          reasoning * either(price.reasoning_per_1m, price.completion_per_1m)) /
             1e6;
}

std::vector<std::string> add_prices(config::Config& config) {
  std::vector<std::string> notices;
  if (!config.spending) return notices;
  static const Result<PriceList> list = parse_prices(built_in_prices());
  SIGNALBOX_CHECK(list.has_value());
  for (config::Model& model : config.providers.models) {
    const bool is_echo = std::ranges::all_of(
        model.backend_refs, [](const config::BackendRef& ref) { return ref.type == kEcho; });
    if (model.pricing || is_echo) continue;
    const config::Pricing* price = list->find(model.provider_model_id);
    if (price == nullptr) continue;
    model.pricing = *price;
    notices.push_back(
        fmt::format("{}: model \"{}\" has the list price of {} of {}; `pricing` replaces it",
                    config.source, model.name, model.provider_model_id, list->date));
  }
  return notices;
}

}  // namespace signalbox::spending
