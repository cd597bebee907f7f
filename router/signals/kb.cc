// Two signal types over the same knowledge bases: signals that conditions use, and metrics that
// projections add up.

#include <algorithm>

#include "router/signals/knowledge_base.h"
#include "router/signals/types.h"

namespace signalbox::signals {
namespace {

using Bases = std::vector<std::shared_ptr<const KnowledgeBase>>;

const KnowledgeBase* find_base(const Bases& bases, std::string_view name) {
  const auto found = std::find_if(bases.begin(), bases.end(),
                                  [&](const auto& base) { return base->config().name == name; });
  return found == bases.end() ? nullptr : found->get();
}

class KnowledgeSignals : public NamedSignals<config::KbSignal> {
 public:
  KnowledgeSignals(const std::vector<config::KbSignal>& signals, Bases bases)
      : NamedSignals(signals), bases_(std::move(bases)) {}

  std::string_view type() const override { return "kb"; }
  Needs needs() const override { return Needs::kEmbedder; }
  Wording wording() const override { return {"score", "nearest"}; }
  std::string_view unavailable(size_t signal) const override {
    return find_base(bases_, signals_[signal].kb) == nullptr
               ? "there is no embedding model, or its knowledge base has no manifest"
               : "";
  }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>& evidence) const override {
    const std::string_view text = inputs.request().user_text();
    if (text.empty()) return {};
    SIGNALBOX_TRY(const std::span<const float> query,
                  inputs.embedding(inputs.digest(type(), text)));
    for (const auto& base : bases_) {
      const KnowledgeBase::Reading reading = base->read(query, text);
      for (uint32_t i = 0; i < signals_.size(); ++i) {
        if (signals_[i].kb == base->config().name)
          out[i] = evaluate_target(i, *base, reading, evidence);
      }
    }
    return {};
  }

 private:
  Reading evaluate_target(uint32_t signal, const KnowledgeBase& base,
                          const KnowledgeBase::Reading& reading,
                          std::vector<Evidence>& evidence) const {
    using Target = config::KbSignal::Target;
    const config::KbSignal& config = signals_[signal];
    const std::string& value = config.target.value;
    const bool best = config.match == config::KbSignal::Match::kBest;
    Reading out;
    if (config.target.kind == Target::Kind::kGroup) {
      const auto found = reading.groups.find(value);
      if (found == reading.groups.end()) return out;
      out.score = found->second;
      out.matched = best ? reading.best_group == value : base.reaches(reading, value);
    } else {
      const auto found = reading.labels.find(value);
      if (found == reading.labels.end()) return out;
      out.score = found->second.score;
      out.matched = best ? reading.best_label == value : out.score >= base.threshold(value);
      evidence.push_back({signal, found->second.nearest, found->second.best});
    }
    if (out.matched) out.confidence = std::clamp(out.score, 0.0, 1.0);
    return out;
  }

  Bases bases_;
};

class Metrics : public SignalType {
 public:
  explicit Metrics(Bases bases) : bases_(std::move(bases)) {
    for (const auto& base : bases_) {
      for (const std::string_view metric : base->metrics())
        metrics_.push_back(
            {fmt::format("{}/{}", base->config().name, metric), std::string(metric), base.get()});
    }
  }
  std::string_view type() const override { return "kb_metric"; }
  Needs needs() const override { return Needs::kEmbedder; }
  size_t size() const override { return metrics_.size(); }
  std::string_view name(size_t signal) const override { return metrics_[signal].name; }
  Wording wording() const override { return {"value", ""}; }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>&) const override {
    const std::string_view text = inputs.request().user_text();
    if (text.empty()) return {};
    SIGNALBOX_TRY(const std::span<const float> query,
                  inputs.embedding(inputs.digest(type(), text)));
    for (const auto& base : bases_) {
      const KnowledgeBase::Reading reading = base->read(query, text);
      for (size_t i = 0; i < metrics_.size(); ++i) {
        if (metrics_[i].base == base.get())
          out[i].score = base->metric(reading, metrics_[i].metric);
      }
    }
    return {};
  }

 private:
  struct Metric {
    std::string name;
    std::string metric;
    const KnowledgeBase* base;
  };
  Bases bases_;
  std::vector<Metric> metrics_;
};

}  // namespace

std::unique_ptr<const SignalType> kb_signals(
    const std::vector<config::KbSignal>& signals,
    const std::vector<std::shared_ptr<const KnowledgeBase>>& bases) {
  return std::make_unique<KnowledgeSignals>(signals, bases);
}

std::unique_ptr<const SignalType> kb_metrics(
    const std::vector<std::shared_ptr<const KnowledgeBase>>& bases) {
  return std::make_unique<Metrics>(bases);
}

}  // namespace signalbox::signals
