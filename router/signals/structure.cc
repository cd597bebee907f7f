// Signals of type structure. One pass counts the keywords of all signals; patterns and sequences
// are searched one by one.

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "router/routing/decision/fact.h"
#include "router/signals/matching/keyword_automaton.h"
#include "router/signals/matching/keyword_matcher.h"
#include "router/signals/matching/pattern.h"
#include "router/signals/types.h"
#include "router/text/normalize.h"

namespace signalbox::signals {
namespace {

using StructureSource = config::StructureSignal::Source;
using Feature = config::StructureSignal::Feature;

// Counts keywords, either all case-sensitive or all in lower case.
class Counter {
 public:
  explicit Counter(bool lower) : lower_(lower) {}

  Result<void> add(uint32_t signal, std::string_view keyword) {
    SIGNALBOX_TRY(std::string normalized, normalize_keyword(keyword, lower_));
    const auto [known, fresh] = numbers_.emplace(normalized, static_cast<uint32_t>(texts_.size()));
    if (fresh) {
      texts_.push_back(std::move(normalized));
      users_.emplace_back();
    }
    users_[known->second].push_back(signal);
    return {};
  }
  Result<void> finish() {
    SIGNALBOX_TRY(automaton_, KeywordAutomaton::build(texts_));
    return {};
  }
  void count(KeywordText& text, std::vector<size_t>& counts) const {
    if (texts_.empty()) return;
    const std::string_view normalized = text.normalized(lower_);
    automaton_.scan(normalized, [&](uint32_t number, size_t end) {
      const std::string_view keyword = texts_[number];
      const size_t begin = end - keyword.size();
      if (text::word_starts_at(keyword, 0) && text::word_ends_at(normalized, begin)) return;
      if (text::word_ends_at(keyword, keyword.size()) && text::word_starts_at(normalized, end))
        return;
      for (const uint32_t signal : users_[number]) ++counts[signal];
    });
  }

 private:
  bool lower_;
  std::map<std::string, uint32_t> numbers_;
  std::vector<std::string> texts_;
  std::vector<std::vector<uint32_t>> users_;  // (texts): indices of signals
  KeywordAutomaton automaton_;
};

bool occurs_in_order(std::string_view text, const std::vector<std::string>& parts) {
  size_t at = 0;
  for (const std::string& part : parts) {
    const size_t found = text.find(part, at);
    if (found == std::string_view::npos) return false;
    at = found + part.size();
  }
  return !parts.empty();
}

double confidence_of(const std::optional<config::Predicate>& predicate, double value) {
  if (!predicate) return 1;
  double distance = 1;
  for (const auto& bound : {predicate->lte, predicate->lt, predicate->gte, predicate->gt}) {
    if (bound) distance = std::abs(value - *bound);
  }
  constexpr double kSteepness = 4;
  return std::max(0.5, 1 / (1 + std::exp(-kSteepness * distance)));
}

class StructureSignals : public NamedSignals<config::StructureSignal> {
 public:
  using NamedSignals::NamedSignals;

  Result<void> compile(std::string_view source) {
    patterns_.resize(signals_.size());
    sequences_.resize(signals_.size());
    for (uint32_t i = 0; i < signals_.size(); ++i) {
      auto done = compile_one(i);
      if (!done) {
        return fail_in(place_of(source, signals_[i].line, "structure", signals_[i].name),
                       std::move(done).error());
      }
    }
    SIGNALBOX_TRY_VOID(lower_.finish());
    return exact_.finish();
  }

  std::string_view type() const override { return "structure"; }
  Needs needs() const override { return Needs::kRequest; }
  Wording wording() const override { return {"measure", ""}; }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>&) const override {
    const std::string_view text = inputs.request().user_text();
    if (text.empty()) return {};
    const LentKeywordText lent(text);
    KeywordText& forms = *lent;
    std::vector<size_t> counts(signals_.size(), 0);
    lower_.count(forms, counts);
    exact_.count(forms, counts);
    for (uint32_t i = 0; i < signals_.size(); ++i) {
      const config::StructureSignal& signal = signals_[i];
      const double value = measure(i, counts[i], forms);
      out[i].score = value;
      out[i].matched = signal.predicate ? decision::holds(*signal.predicate, value) : value > 0;
      if (out[i].matched) out[i].confidence = confidence_of(signal.predicate, value);
    }
    return {};
  }

 private:
  Result<void> compile_one(uint32_t signal) {
    const StructureSource& source = signals_[signal].feature.source;
    switch (source.type) {
      case StructureSource::Type::kRegex: {
        SIGNALBOX_TRY(patterns_[signal], Pattern::compile(source.pattern, source.case_sensitive));
        break;
      }
      case StructureSource::Type::kKeywordSet:
        for (const std::string& keyword : source.keywords) {
          SIGNALBOX_TRY_VOID((source.case_sensitive ? exact_ : lower_).add(signal, keyword));
        }
        break;
      case StructureSource::Type::kSequence:
        for (const auto& sequence : source.sequences) {
          auto& normalized = sequences_[signal].emplace_back();
          for (const std::string& part : sequence) {
            SIGNALBOX_TRY(std::string each, normalize_keyword(part, !source.case_sensitive));
            normalized.push_back(std::move(each));
          }
        }
        break;
      case StructureSource::Type::kTextBytes:
        break;
    }
    return {};
  }

  double measure(uint32_t signal, size_t keywords, KeywordText& text) const {
    const Feature& feature = signals_[signal].feature;
    const size_t count = count_of(signal, keywords, text);
    switch (feature.type) {
      case Feature::Type::kCount:
        return static_cast<double>(count);
      case Feature::Type::kExists:
      case Feature::Type::kSequence:
        return count > 0 ? 1 : 0;
      case Feature::Type::kDensity: {
        const size_t units = text.units(false).size();
        return units == 0 ? 0 : static_cast<double>(count) / static_cast<double>(units);
      }
    }
    return 0;
  }

  size_t count_of(uint32_t signal, size_t keywords, KeywordText& text) const {
    const StructureSource& source = signals_[signal].feature.source;
    switch (source.type) {
      case StructureSource::Type::kRegex:
        return patterns_[signal]->count(text.original());
      case StructureSource::Type::kKeywordSet:
        return keywords;
      case StructureSource::Type::kSequence: {
        const std::string_view normalized = text.normalized(!source.case_sensitive);
        const auto& all = sequences_[signal];
        return std::any_of(all.begin(), all.end(),
                           [&](const auto& parts) { return occurs_in_order(normalized, parts); });
      }
      case StructureSource::Type::kTextBytes:
        return text.original().size();
    }
    return 0;
  }

  std::vector<std::optional<Pattern>> patterns_;                  // (signals)
  std::vector<std::vector<std::vector<std::string>>> sequences_;  // (signals, sequences, parts)
  Counter lower_{true};
  Counter exact_{false};
};

}  // namespace

std::string place_of(std::string_view source, uint32_t line, std::string_view type,
                     std::string_view name) {
  const std::string signal = fmt::format("{} signal \"{}\"", type, name);
  return line == 0 ? signal : fmt::format("{}:{}: {}", source, line, signal);
}

SignalTypeResult structure_signals(const std::vector<config::StructureSignal>& signals,
                                   std::string_view source) {
  auto made = std::make_unique<StructureSignals>(signals);
  SIGNALBOX_TRY_VOID(made->compile(source));
  return made;
}

}  // namespace signalbox::signals
