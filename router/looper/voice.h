#pragma once
// A model that an algorithm may call, with the figures by which models are ordered.

#include <optional>
#include <string>
#include <string_view>

namespace signalbox::looper {

struct Voice {
  std::string model;              // its name in the configuration
  double size = 0;                // millions of parameters, by its card; 0: unknown
  std::optional<double> price;    // of a million tokens
  std::optional<double> quality;  // 0 to 1, by its card
  double weight = 1;              // of its modelRef
};

/// The number of millions in "7b", "0.5B", "300m" or "70": a number without a unit is in billions.
/// 0 for any other text.
double read_size(std::string_view text);

}  // namespace signalbox::looper
