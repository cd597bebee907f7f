// Both calls end before there is an answer: one that fails leaves the other's.

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
  explicit TextAndImage(std::span<const Voice> voices)
      : writer_(voices[kText].model), painter_(voices[kImage].model) {}

  Step next(std::span<const Turn> turns, bool may_call) const override {
    if (turns.empty()) {
      if (!may_call) return {.answer = fail(Code::kDeadline, "there was no time for a call")};
      Step out;
      out.calls.resize(2);
      out.calls[kText].model = writer_;
      out.calls[kText].offers_tools = false;
      out.calls[kImage].model = painter_;
      out.calls[kImage].purpose = Purpose::kDraw;
      return out;
    }
    if (!all_done(turns)) return {};
    for (const size_t turn : {kText, kImage}) {
      if (turns[turn].reply() != nullptr) return {.answer = Answer{turn}};
    }
    return {.answer = neither(turns[kText].outcome.error(), turns[kImage].outcome.error())};
  }

 private:
  static constexpr size_t kText = 0, kImage = 1;
  const std::string writer_, painter_;
};

}  // namespace

std::unique_ptr<const Algorithm> text_and_image(std::span<const Voice> voices) {
  SIGNALBOX_CHECK(voices.size() == 2);
  return std::make_unique<TextAndImage>(voices);
}

}  // namespace signalbox::looper
