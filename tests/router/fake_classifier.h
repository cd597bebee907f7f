#pragma once
// A text model without a network. A label that occurs in the text as a word gets most of the
// probability, and each occurrence is an entity of that type.

#include <string>
#include <vector>

#include "engine/engine.h"

namespace signalbox::test {

class FakeClassifier : public engine::TextModel {
 public:
  static constexpr float kSure = 0.9f;

  FakeClassifier(std::vector<std::string> labels, engine::HeadKind kind, bool fails,
                 engine::Scores scores = engine::Scores::kSoftmax,
                 std::vector<std::string> languages = {})
      : head_{.name = "fake",
              .kind = kind,
              .scores = scores,
              .labels = std::move(labels),
              .languages = std::move(languages)},
        fails_(fails) {}

  int32_t dim() const override { return 1; }
  int32_t hidden() const override { return 1; }
  int32_t layers() const override { return 1; }
  int32_t tokens_max() const override { return 512; }
  int32_t vocabulary() const override { return 1; }
  double multiply_adds(int32_t) const override { return 0; }
  std::span<const engine::HeadInfo> heads() const override { return {&head_, 1}; }

  Result<std::vector<engine::Answer>> answer(std::span<const engine::Input> inputs) const override {
    if (fails_) return fail(Code::kInternal, "the model is gone");
    std::vector<engine::Answer> out;
    for (const engine::Input& input : inputs) out.push_back(answer_one(input.text));
    return out;
  }

  Result<void> embed(std::span<const std::string_view>, std::span<float>) const override {
    return fail(Code::kUnsupported, "a fake embeds nothing");
  }
  Result<void> embed(std::span<const std::string_view>, const engine::EmbedOptions&,
                     std::span<float>) const override {
    return fail(Code::kUnsupported, "a fake embeds nothing");
  }
  Result<engine::States> states(std::span<const int32_t>, std::span<const uint8_t>,
                                int32_t) const override {
    return fail(Code::kUnsupported, "a fake has no states");
  }
  Result<int32_t> tokens(const engine::Input& input) const override {
    return static_cast<int32_t>(input.text.size());
  }
  Result<bool> is_cut(const engine::Input& input) const override {
    return input.text.size() > static_cast<size_t>(tokens_max());
  }
  Result<std::vector<int32_t>> encode(std::string_view) const override {
    return fail(Code::kUnsupported, "a fake has no tokens");
  }
  // Every byte is a token, except for white space, which may have no width.
  Result<std::vector<std::string_view>> windows(std::string_view text, int32_t tokens,
                                                int32_t overlap) const override {
    std::vector<std::string_view> out;
    if (text.find_first_not_of(" \n\u200B") == std::string_view::npos) return out;
    for (size_t begin = 0; begin < text.size(); begin += tokens - overlap) {
      out.push_back(text.substr(begin, tokens));
      if (begin + tokens >= text.size()) break;
    }
    return out;
  }

 private:
  engine::Answer answer_one(std::string_view text) const {
    engine::Answer answer;
    const size_t count = head_.labels.size();
    size_t best = count;
    for (size_t i = 0; i < count; ++i) {
      const size_t at = text.find(head_.labels[i]);
      if (at == std::string_view::npos) continue;
      best = i;
      const auto begin = static_cast<uint32_t>(at);
      const auto end = static_cast<uint32_t>(at + head_.labels[i].size());
      answer.entities.push_back({head_.labels[i], begin, end, kSure});
    }
    if (head_.kind == engine::HeadKind::kTokens) return answer;
    answer.entities.clear();
    const float even = 1.0f / static_cast<float>(count);
    const float rest = (1 - kSure) / static_cast<float>(count - 1);
    for (size_t i = 0; i < count; ++i)
      answer.scores.push_back(best == count ? even : best == i ? kSure : rest);
    return answer;
  }

  engine::HeadInfo head_;
  bool fails_;
};

}  // namespace signalbox::test
