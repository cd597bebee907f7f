// Signals of type metadata: a member of the request's metadata equals a given text.

#include "router/signals/types.h"

namespace signalbox::signals {
namespace {

class MetadataSignals : public NamedSignals<config::MetadataSignal> {
 public:
  using NamedSignals::NamedSignals;
  std::string_view type() const override { return "metadata"; }
  Needs needs() const override { return Needs::kRequest; }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>& evidence) const override {
    for (uint32_t i = 0; i < signals_.size(); ++i) {
      const auto value = inputs.request().metadata(signals_[i].key);
      const bool matched = value && *value == signals_[i].predicate.equals;
      out[i] = {matched, matched ? 1.0 : 0.0, matched ? 1.0 : 0.0};
      if (matched) evidence.push_back({i, signals_[i].key, 1});
    }
    return {};
  }
};

}  // namespace

SignalTypeResult metadata_signals(const std::vector<config::MetadataSignal>& signals) {
  return std::make_unique<MetadataSignals>(signals);
}

}  // namespace signalbox::signals
