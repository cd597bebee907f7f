#pragma once
// What `algorithm` of a decision and `global.router.model_selection` have in common.

#include "router/config/algorithm.h"
#include "router/config/section.h"

namespace signalbox::config {

const Section<RouterDc>& router_dc_section();
const Section<AutoMix>& automix_section();
const Section<HybridSelection>& hybrid_section();
const Section<MlSelector>& ml_selector_section();

std::vector<std::string_view> algorithm_types();
/// Reports a type that does not exist, or no longer.
void check_algorithm_type(Reader& reader, const yaml::Node& node, std::string_view type);

/// The name of an algorithm.
template <class T>
Value<T> algorithm_type(std::string T::*member) {
  return {"an algorithm",
          [member](Reader& reader, const yaml::Node& node, T& out) {
            const auto scalar = reader.scalar(node, "an algorithm");
            if (!scalar) return;
            out.*member = scalar->text;
            check_algorithm_type(reader, node, scalar->text);
          },
          [](Schema& schema) { schema.words(algorithm_types()); }};
}

}  // namespace signalbox::config
