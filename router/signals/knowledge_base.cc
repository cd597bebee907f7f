// The score of a group is the score of its best label; a metric is the difference of two groups.

#include "router/signals/knowledge_base.h"

#include <algorithm>

namespace signalbox::signals {
namespace {

constexpr std::string_view kBestScore = "best_score";
constexpr std::string_view kBestMatchedScore = "best_matched_score";

}  // namespace

Result<std::unique_ptr<const KnowledgeBase>> KnowledgeBase::create(
    const config::KnowledgeBase& config, knowledge::Manifest manifest,
    const engine::TextEmbedder& embedder) {
  auto made =
      std::unique_ptr<KnowledgeBase>(new KnowledgeBase(knowledge::complete(config, manifest)));
  for (knowledge::Label& label : manifest.labels) {
    made->labels_.push_back(std::move(label.name));
    made->examples_.push_back(std::move(label.examples));
  }
  std::vector<const std::vector<std::string>*> examples;
  for (const auto& each : made->examples_) examples.push_back(&each);
  SIGNALBOX_TRY(made->banks_, build_banks(embedder, examples, made->config_.prototype_scoring));
  return made;
}

KnowledgeBase::Reading KnowledgeBase::read(std::span<const float> query,
                                           std::string_view text) const {
  Reading out;
  const bool is_plain = config_.prototype_scoring.similarity_exponent == 1;
  const double unrelated = is_plain ? 0 : unrelated_similarity(text);
  double best = 0;
  for (size_t i = 0; i < labels_.size(); ++i) {
    const PrototypeBank::Score score = banks_[i].score(query, unrelated);
    out.labels[labels_[i]] = score;
    if (score.score < threshold(labels_[i])) continue;
    if (out.best_label.empty() || score.score > best) {
      out.best_label = labels_[i];
      best = score.score;
    }
  }
  best = 0;
  for (const auto& [group, members] : config_.groups) {
    double& score = out.groups[group];
    for (const std::string& label : members) {
      const auto found = out.labels.find(label);
      if (found != out.labels.end()) score = std::max(score, found->second.score);
    }
    if (!reaches(out, group)) continue;
    if (out.best_group.empty() || score > best) {
      out.best_group = group;
      best = score;
    }
  }
  return out;
}

double KnowledgeBase::threshold(std::string_view label) const {
  const auto own = config_.label_thresholds.find(std::string(label));
  return own == config_.label_thresholds.end() ? config_.threshold : own->second;
}

bool KnowledgeBase::reaches(const Reading& reading, std::string_view group) const {
  const auto members = config_.groups.find(std::string(group));
  if (members == config_.groups.end()) return false;
  return std::any_of(members->second.begin(), members->second.end(), [&](const auto& label) {
    const auto found = reading.labels.find(label);
    return found != reading.labels.end() && found->second.score >= threshold(label);
  });
}

double KnowledgeBase::metric(const Reading& reading, std::string_view name) const {
  if (name == kBestScore) {
    double best = 0;
    for (const auto& [label, score] : reading.labels) best = std::max(best, score.score);
    return best;
  }
  if (name == kBestMatchedScore)
    return reading.best_label.empty() ? 0 : reading.labels.at(reading.best_label).score;
  const auto score = [&](const std::string& group) {
    const auto found = reading.groups.find(group);
    return found == reading.groups.end() ? 0 : found->second;
  };
  for (const config::KnowledgeBase::Metric& metric : config_.metrics) {
    if (metric.name == name) return score(metric.positive_group) - score(metric.negative_group);
  }
  return 0;
}

std::vector<std::string_view> KnowledgeBase::metrics() const {
  std::vector<std::string_view> names{kBestScore, kBestMatchedScore};
  for (const config::KnowledgeBase::Metric& metric : config_.metrics) names.push_back(metric.name);
  return names;
}

}  // namespace signalbox::signals
