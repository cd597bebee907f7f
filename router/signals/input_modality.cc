// Signals of type input_modality: kinds of parts in the messages of the user. No model runs.

#include "router/signals/types.h"

namespace signalbox::signals {
namespace {

using Modality = config::InputModalitySignal::Modality;

uint32_t count_parts(const request::ChatMessage& message, Modality modality) {
  switch (modality) {
    case Modality::kText:
      return message.text.empty() ? 0 : 1;
    case Modality::kImage:
      return message.images;
    case Modality::kAudio:
      return message.has_audio ? 1 : 0;
    case Modality::kVideo:
      return message.has_video ? 1 : 0;
  }
  return 0;
}

class InputModalitySignals : public NamedSignals<config::InputModalitySignal> {
 public:
  using NamedSignals::NamedSignals;

  std::string_view type() const override { return "input_modality"; }
  Needs needs() const override { return Needs::kRequest; }
  Wording wording() const override { return {"count", ""}; }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>&) const override {
    for (size_t i = 0; i < signals_.size(); ++i) {
      uint32_t count = 0;
      for (const request::ChatMessage& message : inputs.request().messages) {
        if (message.role == "user") count += count_parts(message, signals_[i].modality);
      }
      out[i].score = count;
      out[i].matched = count > 0;
      out[i].confidence = out[i].matched ? 1 : 0;
    }
    return {};
  }
};

}  // namespace

SignalTypeResult input_modality_signals(const std::vector<config::InputModalitySignal>& signals) {
  return std::make_unique<InputModalitySignals>(signals);
}

}  // namespace signalbox::signals
