// Despite its name nothing is rated: the client compares the choices.

#include "router/looper/compose.h"
#include "router/looper/outcomes.h"
#include "router/looper/panel.h"

namespace signalbox::looper {
namespace {

class Ratings final : public Algorithm {
 public:
  Ratings(const config::Ratings& settings, std::vector<Voice> voices)
      : settings_(settings), voices_(std::move(voices)) {}

  uint32_t concurrent_max() const override { return settings_.max_concurrent; }

  Step next(std::span<const Turn> turns, bool may_call) const override {
    if (turns.empty() && may_call) {
      Step out;
      for (const Voice& voice : voices_) {
        Call call;
        call.model = voice.model;
        call.offers_tools = false;
        out.calls.push_back(std::move(call));
      }
      return out;
    }
    if (settings_.on_error == "fail" && any_failed(turns)) return {.answer = failed(turns)};
    if (!all_done(turns)) return {};
    const std::vector<size_t> good = replied(turns);
    if (good.empty()) return {.answer = failed(turns)};
    return {.answer = RunAnswer{good.front(), compose_choices(turns, good)}};
  }

 private:
  const config::Ratings settings_;
  const std::vector<Voice> voices_;
};

}  // namespace

std::unique_ptr<const Algorithm> ratings(const config::Ratings& settings,
                                         std::vector<Voice> voices) {
  return std::make_unique<Ratings>(settings, std::move(voices));
}

}  // namespace signalbox::looper
