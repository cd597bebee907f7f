#pragma once
// A text embedder without a model. Texts that share words are similar. Counts its calls, and can be
// made to fail.

#include <atomic>
#include <cmath>
#include <functional>
#include <string>

#include "engine/engine.h"

namespace signalbox::test {

class FakeEmbedder : public engine::TextEmbedder {
 public:
  static constexpr int32_t kDim = 64;

  /// `calls` counts embedded texts; while `fail` is true, every call returns an error.
  explicit FakeEmbedder(std::atomic<int>* calls = nullptr, std::atomic<bool>* fail = nullptr)
      : calls_(calls), fail_(fail) {}

  int32_t dim() const override { return kDim; }
  int32_t tokens_max() const override { return 512; }

  Result<void> embed(std::span<const std::string_view> texts, std::span<float> out) const override {
    if (fail_ != nullptr && *fail_) return fail(Code::kInternal, "the model is gone");
    if (calls_ != nullptr) *calls_ += static_cast<int>(texts.size());
    for (size_t i = 0; i < texts.size(); ++i) embed_one(texts[i], out.subspan(i * kDim, kDim));
    return {};
  }

 private:
  // Each word is one axis; equal words share an axis.
  static void embed_one(std::string_view text, std::span<float> out) {
    std::fill(out.begin(), out.end(), 0.0f);
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find(' ', begin), text.size());
      out[std::hash<std::string_view>()(text.substr(begin, end - begin)) % kDim] += 1;
      begin = end + 1;
    }
    float norm = 0;
    for (const float x : out) norm += x * x;
    for (float& x : out) x /= std::sqrt(std::max(norm, 1e-12f));
  }

  std::atomic<int>* calls_;
  std::atomic<bool>* fail_;
};

}  // namespace signalbox::test
