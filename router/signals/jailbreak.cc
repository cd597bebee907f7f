// Signals of the types jailbreak and safety. The score is the probability of a classifier, or the
// similarity to known jailbreaks minus the similarity to benign lookalikes, or the higher of both.

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <unordered_set>

#include "router/signals/jailbreak_windows.h"
#include "router/signals/prototypes.h"
#include "router/signals/types.h"
#include "router/text/windows.h"

namespace signalbox::signals {
namespace {

using JailbreakMethod = config::JailbreakSignal::Method;

// The search stops at a window of this probability, unless the threshold is higher.
constexpr double kCertain = 0.995;
constexpr double kContrastiveThreshold = 0.1;
constexpr double kSafetyThreshold = 0.5;
// A jailbreak attempt is a sentence or two; in one vector for much text it would not stand out.
constexpr int32_t kEmbeddedBytes = 504;
// Windows that are read together: the search may end after each group.
constexpr size_t kAhead = 32;
// Upper bound of the special tokens that the model adds to a text.
constexpr int32_t kSpecialTokens = 8;

// A part that occurs in a prompt and in a document is judged as both.
using SeenParts = std::map<TextKind, std::unordered_set<std::string_view>>;

class JailbreakSignals : public NamedSignals<config::JailbreakSignal> {
 public:
  JailbreakSignals(std::string_view type, const std::vector<config::JailbreakSignal>& signals,
                   const config::ClassifierModel& guard, ModelChoice classifier, bool has_embedder)
      : NamedSignals(signals),
        type_(type),
        guard_(guard),
        classifier_(std::move(classifier)),
        has_embedder_(has_embedder) {
    if (classifier_.model == nullptr) return;
    const bool is_safety = type == "safety";
    guard_heads_ = make_guard(*classifier_.model, classifier_.head,
                              is_safety ? find_unsafe_labels(classifier_.labels)
                                        : find_jailbreak_labels(guard, classifier_.labels));
    if (guard_heads_.positive.empty()) {
      classifier_.why =
          is_safety ? kNoUnsafeClass : "the classifier has none of prompt_guard's positive_labels";
      classifier_.model = nullptr;
    }
    // A single label only repeats that it is an attack.
    if (guard_heads_.positive.size() > 1 || guard_heads_.document_head)
      guard_heads_.labels = classifier_.labels;
  }

  Result<void> embed(const engine::TextEmbedder& embedder) {
    // A token has at least one byte.
    embedded_bytes_ =
        static_cast<size_t>(std::clamp(embedder.tokens_max() - kSpecialTokens, 1, kEmbeddedBytes));
    std::vector<const std::vector<std::string>*> examples;
    for (const config::JailbreakSignal& signal : signals_) {
      examples.push_back(&signal.jailbreak_patterns);
      examples.push_back(&signal.benign_patterns);
    }
    config::PrototypeScoring exact;
    exact.enabled = false;
    SIGNALBOX_TRY(banks_, build_banks(embedder, examples, exact));
    return {};
  }

  std::string_view type() const override { return type_; }
  Needs needs() const override {
    for (size_t i = 0; i < signals_.size(); ++i) {
      if (classifies(i)) return classifier_.calls_server() ? Needs::kServer : Needs::kClassifier;
    }
    return Needs::kEmbedder;
  }
  Wording wording() const override { return {"score", "nearest"}; }
  std::string_view stand_in() const override { return classifier_.stand_in; }
  std::string_view server(size_t signal) const override {
    return classifies(signal) ? std::string_view(classifier_.server) : std::string_view();
  }
  std::optional<double> threshold(size_t signal) const override {
    if (signals_[signal].method == JailbreakMethod::kHybrid) return {};
    return signals_[signal].method == JailbreakMethod::kContrastive ? margin_threshold(signal)
                                                                    : probability_threshold(signal);
  }
  std::string_view unavailable(size_t signal) const override {
    if (compares(signal) || classifies(signal)) return "";
    const config::JailbreakSignal& config = signals_[signal];
    if (config.method == JailbreakMethod::kClassifier) return classifier_.why;
    return reason_not_compared(signal);
  }

  std::string_view lacks(size_t signal) const override {
    if (signals_[signal].method != JailbreakMethod::kHybrid ||
        compares(signal) == classifies(signal))
      return "";
    return compares(signal) ? classifier_.why : reason_not_compared(signal);
  }

  // Hidden texts are left out: they take longer to find, and classify() counts them.
  Result<void> check_length(Inputs& inputs) const override {
    for (uint32_t i = 0; i < signals_.size(); ++i) {
      if (!classifies(i) || guard_.on_unread != config::ClassifierModel::OnUnread::kRefuse)
        continue;
      size_t bytes = 0;
      SeenParts seen;
      std::vector<std::string_view> parts;
      for (const std::string_view text : texts_of(i, inputs)) {
        bytes += text.size();
        std::ranges::copy(text::distinct_parts(text, seen[kind_of(text, inputs)]),
                          std::back_inserter(parts));
      }
      // A shorter request hardly ever has too many windows, and its tokens are soon counted.
      if (bytes < guard_.windows_max * static_cast<size_t>(text::kWindowTokens)) continue;
      SIGNALBOX_TRY(const text::Windows windows,
                    text::windows_of(parts, *classifier_.model, guard_.windows_max));
      if (!windows.whole) return too_long();
    }
    return {};
  }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>& evidence) const override {
    for (uint32_t i = 0; i < signals_.size(); ++i) {
      const std::vector<std::string_view> texts = texts_of(i, inputs);
      bool whole = true;
      Reading best;
      std::string_view language;
      if (compares(i)) {
        SIGNALBOX_TRY(best, compare(i, texts, inputs, evidence, whole));
      }
      if (classifies(i)) {
        SIGNALBOX_TRY(const Reading classified, classify(i, texts, inputs));
        const bool is_better =
            classified.matched != best.matched ? classified.matched : classified.score > best.score;
        if (!compares(i) || is_better) best = classified;
        best.windows = classified.windows;
        best.windows_cleared = classified.windows_cleared;
        if (!best.matched) language = classified.unsupported_language;
      }
      best.unsupported_language = language;
      if (!language.empty() && signals_[i].on_unsupported_language ==
                                   config::JailbreakSignal::OnUnsupportedLanguage::kMatch) {
        best.matched = true;
        best.confidence = 1;  // like that of a failed signal that counts as a match
      }
      out[i] = best;
      // If half of a hybrid signal or a part of the text is missing, "no match" is not a reliable
      // result.
      out[i].known = best.matched || !lacks_a_half(i);
      out[i].whole = best.matched || whole;
    }
    rank_attacks_first(out);
    return {};
  }

 private:
  // If one signal found an attack, decisions that rest on the language of another one come second.
  static void rank_attacks_first(std::span<Reading> readings) {
    double least = 2;
    for (const Reading& each : readings) {
      if (each.matched && each.unsupported_language.empty())
        least = std::min(least, each.confidence);
    }
    for (Reading& each : readings) {
      if (each.matched && !each.unsupported_language.empty())
        each.confidence = std::min(each.confidence, std::nextafter(least, 0.0));
    }
  }

  std::vector<std::string_view> texts_of(size_t signal, const Inputs& inputs) const {
    return signals_[signal].include_history ? inputs.request().texts()
                                            : inputs.request().turn_texts();
  }

  static TextKind kind_of(std::string_view text, const Inputs& inputs) {
    return inputs.request().is_document(text) ? TextKind::kDocument : TextKind::kPrompt;
  }

  std::string_view reason_not_compared(size_t signal) const {
    return signals_[signal].jailbreak_patterns.empty() ? "it has no jailbreak_patterns"
                                                       : "there is no embedding model";
  }
  bool compares(size_t signal) const {
    return has_embedder_ && signals_[signal].method != JailbreakMethod::kClassifier &&
           !signals_[signal].jailbreak_patterns.empty();
  }
  // Returns whether one half of a hybrid signal is configured but cannot run.
  bool lacks_a_half(size_t signal) const {
    return !lacks(signal).empty() && !signals_[signal].jailbreak_patterns.empty();
  }
  bool classifies(size_t signal) const {
    return classifier_.model != nullptr && signals_[signal].method != JailbreakMethod::kContrastive;
  }

  double margin_threshold(size_t signal) const {
    const bool hybrid = signals_[signal].method == JailbreakMethod::kHybrid;
    const double own = hybrid ? 0 : signals_[signal].threshold;
    return own > 0 ? own : kContrastiveThreshold;
  }
  double probability_threshold(size_t signal) const {
    const double own = signals_[signal].threshold;
    if (own > 0) return own;
    if (guard_.threshold > 0) return guard_.threshold;
    return type_ == "safety" ? kSafetyThreshold : kJailbreakThreshold;
  }

  Result<Reading> compare(uint32_t signal, const std::vector<std::string_view>& texts,
                          Inputs& inputs, std::vector<Evidence>& evidence, bool& whole) const {
    Reading out;
    std::string_view nearest;
    const text::Windows windows = text::windows_of(texts, embedded_bytes_);
    whole = windows.whole || guard_.on_unread == config::ClassifierModel::OnUnread::kJudge;
    for (const std::string_view window : windows.pieces) {
      SIGNALBOX_TRY(const std::span<const float> query, inputs.embedding(window));
      const PrototypeBank::Score pattern = banks_[2 * signal].score(query);
      const double margin = pattern.score - banks_[2 * signal + 1].score(query).score;
      if (!nearest.empty() && margin <= out.score) continue;
      out.score = margin;
      nearest = pattern.nearest;
    }
    if (!nearest.empty()) evidence.push_back({signal, nearest, out.score});
    out.matched = !nearest.empty() && out.score >= margin_threshold(signal);
    if (out.matched) out.confidence = std::clamp(out.score, 0.0, 1.0);
    return out;
  }

  tl::unexpected<Error> too_long() const {
    return fail(Code::kTooLarge,
                "the request is longer than the {} windows of about 1 KB that the guard reads{}",
                guard_.windows_max, type_ == "jailbreak" ? " (prompt_guard.windows_max)" : "");
  }

  // A server gets one window after the other, so that nothing is gained by reading ahead.
  Result<std::span<const engine::Answer>> answers_of(std::span<const std::string_view> windows,
                                                     size_t at, Inputs& inputs,
                                                     bool screened) const {
    if (!classifier_.calls_server() && at % kAhead == 0 && windows.size() > 1) {
      const auto left = windows.subspan(at);
      SIGNALBOX_TRY_VOID(inputs.answer_ahead(*classifier_.model,
                                             left.first(std::min(left.size(), kAhead)), screened));
    }
    return inputs.answers(*classifier_.model, windows[at], screened);
  }

  Result<Reading> classify(uint32_t signal, const std::vector<std::string_view>& texts,
                           Inputs& inputs) const {
    Reading out;
    const GuardedTexts& guarded = inputs.guarded_texts(texts);
    std::vector<std::string_view> parts;
    std::vector<TextKind> kinds;  // (parts)
    SeenParts seen;
    for (size_t g = 0; g < guarded.all().size(); ++g) {
      const TextKind kind = kind_of(texts[guarded.source(g)], inputs);
      for (const std::string_view part : text::distinct_parts(guarded.all()[g], seen[kind])) {
        parts.push_back(part);
        kinds.push_back(kind);
      }
    }
    SIGNALBOX_TRY(const text::Windows windows,
                  text::windows_of(parts, *classifier_.model, guard_.windows_max));
    if (!windows.whole && guard_.on_unread == config::ClassifierModel::OnUnread::kRefuse)
      return too_long();
    const double stop_at = std::max(kCertain, probability_threshold(signal));
    const bool screened = guard_.screen && uses_screen(guard_heads_, windows.pieces.size(),
                                                       probability_threshold(signal));
    for (size_t w = 0; w < windows.pieces.size(); ++w) {
      const auto answers = answers_of(windows.pieces, w, inputs, screened);
      // An attack that was found before the time was over remains found.
      if (!answers && out.score >= probability_threshold(signal)) break;
      if (!answers) return tl::unexpected<Error>(answers.error());
      ++out.windows;
      if (is_cleared(guard_heads_, *answers)) ++out.windows_cleared;
      const Attack attack =
          find_attack(guard_heads_, *answers, windows.pieces[w], kinds[windows.of[w]]);
      if (attack.probability > out.score) {
        out.score = attack.probability;
        out.label = attack.label;
      }
      if (out.score >= stop_at) break;
    }
    out.matched = out.score >= probability_threshold(signal);
    if (out.matched) {
      out.confidence = std::min(out.score, 1.0);
      return out;
    }
    for (size_t w = 0; w < windows.pieces.size() && out.unsupported_language.empty(); ++w)
      out.unsupported_language =
          unsupported_language(guard_heads_, windows.pieces[w], kinds[windows.of[w]]);
    return out;
  }

  const std::string_view type_;  // static
  const config::ClassifierModel& guard_;
  ModelChoice classifier_;
  bool has_embedder_;
  Guard guard_heads_;
  std::vector<PrototypeBank> banks_;  // (signals, 2): jailbreak patterns, benign patterns
  size_t embedded_bytes_ = kEmbeddedBytes;
};

}  // namespace

SignalTypeResult jailbreak_signals(const std::vector<config::JailbreakSignal>& signals,
                                   const config::ClassifierModel& guard, ModelChoice classifier,
                                   const engine::TextEmbedder* embedder) {
  auto made = std::make_unique<JailbreakSignals>("jailbreak", signals, guard, std::move(classifier),
                                                 embedder != nullptr);
  if (embedder == nullptr) return made;
  SIGNALBOX_TRY_VOID(made->embed(*embedder));
  return made;
}

std::unique_ptr<const SignalType> safety_signals(
    const std::vector<config::JailbreakSignal>& signals, const config::ClassifierModel& module,
    ModelChoice classifier) {
  return std::make_unique<JailbreakSignals>("safety", signals, module, std::move(classifier),
                                            false);
}

}  // namespace signalbox::signals
