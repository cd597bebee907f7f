#pragma once
// The list prices of well-known models, which are compiled in, for models without `pricing`.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "router/config/config.h"
#include "router/observe/account.h"

namespace signalbox::spending {

/// The text of prices.yaml.
std::string_view built_in_prices();

struct PriceList {
  std::string date;  // "2026-01-31"
  std::string source;
  std::map<std::string, config::Pricing, std::less<>> models;

  /// Returns the price of a model, also of a version of it that ends in a date, such as
  /// claude-haiku-4-5-20251001; null for others.
  const config::Pricing* find(std::string_view model) const;
};

/// Errors: kInvalid.
Result<PriceList> parse_prices(std::string_view text);

/// The cost of an answered request with these tokens at a model's prices; 0 without prices.
double cost_of(const config::Model& model, const observe::Tokens& tokens);

/// Gives a price to each model that has none and is in the list. Returns one notice for each. Does
/// nothing if the configuration does not count spending.
std::vector<std::string> add_prices(config::Config& config);

}  // namespace signalbox::spending
