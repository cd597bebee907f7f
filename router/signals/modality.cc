// Signals of type modality, by keywords: the user requests an image, an image with text, or text.

#include <algorithm>

#include "router/signals/matching/keyword_matcher.h"
#include "router/signals/types.h"

namespace signalbox::signals {
namespace {

constexpr uint32_t kImage = 0;
constexpr uint32_t kBoth = 1;

class ModalitySignals : public SignalType {
 public:
  ModalitySignals(std::vector<std::string> names, const config::ModalityDetection& detection)
      : names_(std::move(names)), detection_(detection) {}

  Result<void> compile() {
    SIGNALBOX_TRY_VOID(add(detection_.keywords, kImage));
    SIGNALBOX_TRY_VOID(add(detection_.both_keywords, kBoth));
    for (const std::string& prefix : detection_.prompt_prefixes) {
      SIGNALBOX_TRY(std::string normalized, normalize_keyword(prefix, true));
      prefixes_.push_back(std::move(normalized));
    }
    return matcher_->finish();
  }

  std::string_view type() const override { return "modality"; }
  Needs needs() const override { return Needs::kRequest; }
  size_t size() const override { return names_.size(); }
  std::string_view name(size_t signal) const override { return names_[signal]; }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>& evidence) const override {
    const LentKeywordText lent(inputs.request().user_text());
    KeywordText& text = *lent;
    std::vector<bool> seen(keywords_.size(), false);
    std::vector<uint32_t> matched(2, 0);
    std::vector<Evidence> found;
    KeywordHits hits(keywords_, seen, matched, found);
    matcher_->match(text, hits);
    std::string_view normalized = text.normalized(true);
    if (normalized.starts_with(' ')) normalized.remove_prefix(1);
    const bool prefixed = std::any_of(prefixes_.begin(), prefixes_.end(), [&](const auto& each) {
      return normalized.starts_with(each);
    });
    const bool image = matched[kImage] > 0 || prefixed;
    const std::string_view modality = !image ? "AR" : matched[kBoth] > 0 ? "BOTH" : "DIFFUSION";
    for (uint32_t i = 0; i < names_.size(); ++i) {
      if (names_[i] != modality) continue;
      out[i] = {true, 1, 1};
      for (const Evidence& each : found) evidence.push_back({i, each.text, each.score});
    }
    return {};
  }

 private:
  Result<void> add(const std::vector<std::string>& words, uint32_t kind) {
    static const config::KeywordSignal kDefaults;
    for (const std::string& word : words) {
      SIGNALBOX_TRY_VOID(matcher_->add(static_cast<uint32_t>(keywords_.size()), word, kDefaults));
      keywords_.push_back({kind, word});
    }
    return {};
  }

  std::vector<std::string> names_;
  const config::ModalityDetection& detection_;
  std::unique_ptr<KeywordMatcher> matcher_ = literal_matcher(true);
  std::vector<Keyword> keywords_;  // (keywords): kImage or kBoth
  std::vector<std::string> prefixes_;
};

}  // namespace

SignalTypeResult modality_signals(std::vector<std::string> names,
                                  const config::ModalityDetection& detection) {
  auto made = std::make_unique<ModalitySignals>(std::move(names), detection);
  SIGNALBOX_TRY_VOID(made->compile());
  return made;
}

}  // namespace signalbox::signals
