// The answer waits until all calls have ended. If one part fails, the other one is the answer.

#include "router/looper/looper.h"
#include "router/looper/outcomes.h"

namespace signalbox::looper {
namespace {

bool is_about_time_or_load(Code code) {
  return code == Code::kDeadline || code == Code::kOverloaded;
}

tl::unexpected<Error> neither(const Error& text, const Error& image) {
  const bool is_same = text.code == image.code && is_about_time_or_load(text.code);
  return fail(is_same ? text.code : Code::kUpstream,
              "neither the text nor the image came: the text: {}; the image: {}", text.message,
              image.message);
}

class TextAndImage final : public Algorithm {
 public:
  explicit TextAndImage(std::span<const Voice> voices) : painter_(voices.back().model) {
    for (const Voice& voice : voices.first(voices.size() - 1)) writers_.push_back(voice.model);
  }

  Step next(std::span<const Turn> turns, bool may_call) const override {
    if (turns.empty()) {
      if (!may_call) return {.answer = fail(Code::kDeadline, "there was no time for a call")};
      Step out;
      out.calls.push_back(text_by(writers_.front()));
      out.calls.push_back({.model = painter_, .purpose = Purpose::kDraw});
      return out;
    }
    const Turn& image = turns[kImage];
    const Turn& text = turns.size() == 2 ? turns.front() : turns.back();
    const size_t written = turns.size() - 1;
    if (may_call && has_failed(text) && text.elsewhere && written < writers_.size())
      return {.calls = {text_by(writers_[written])}, .joins = true};
    if (!all_done(turns)) return {};
    if (text.reply() != nullptr)
      return {.answer = RunAnswer{static_cast<size_t>(&text - turns.data())}};
    if (image.reply() != nullptr) return {.answer = RunAnswer{kImage}};
    return {.answer = neither(text.outcome.error(), image.outcome.error())};
  }

 private:
  static constexpr size_t kImage = 1;  // the first text is before it, and further ones behind it

  static Call text_by(const std::string& model) { return {.model = model, .offers_tools = false}; }
  static bool has_failed(const Turn& turn) { return turn.is_done() && !turn.outcome; }

  const std::string painter_;
  std::vector<std::string> writers_;
};

}  // namespace

std::unique_ptr<const Algorithm> text_and_image(std::span<const Voice> voices) {
  SIGNALBOX_CHECK(voices.size() >= 2);
  return std::make_unique<TextAndImage>(voices);
}

}  // namespace signalbox::looper
