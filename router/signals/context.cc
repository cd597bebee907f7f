// Signals of type context: the length of the request. Estimates tokens as bytes / 4, as the
// Semantic Router does before it has received token counts from a model.

#include "router/signals/types.h"

namespace signalbox::signals {
namespace {

constexpr size_t kBytesPerToken = 4;

class ContextSignals : public NamedSignals<config::ContextSignal> {
 public:
  using NamedSignals::NamedSignals;
  std::string_view type() const override { return "context"; }
  Needs needs() const override { return Needs::kRequest; }
  Wording wording() const override { return {"tokens (estimated)", ""}; }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>&) const override {
    const request::ChatRequest& request = inputs.request();
    size_t bytes = request.tools_bytes;
    for (const request::ChatMessage& message : request.messages) bytes += message.text.size();
    const auto tokens = static_cast<int64_t>(bytes / kBytesPerToken);
    for (size_t i = 0; i < signals_.size(); ++i) {
      const config::ContextSignal& signal = signals_[i];
      out[i].score = static_cast<double>(tokens);
      out[i].matched =
          tokens >= signal.min_tokens && (!signal.max_tokens || tokens <= *signal.max_tokens);
      out[i].confidence = out[i].matched ? 1 : 0;
    }
    return {};
  }
};

}  // namespace

SignalTypeResult context_signals(const std::vector<config::ContextSignal>& signals) {
  return std::make_unique<ContextSignals>(signals);
}

}  // namespace signalbox::signals
