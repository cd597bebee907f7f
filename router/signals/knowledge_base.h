#pragma once
// A knowledge base in use: the examples of its labels as vectors, and groups of labels.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "router/knowledge/manifest.h"
#include "router/signals/prototypes.h"

namespace signalbox::signals {

/// Immutable and thread-safe.
class KnowledgeBase {
 public:
  /// Embeds the examples of a manifest. Returns the embedder's errors.
  static Result<std::unique_ptr<const KnowledgeBase>> create(const config::KnowledgeBase& config,
                                                             knowledge::Manifest manifest,
                                                             const engine::TextEmbedder& embedder);

  struct Reading {
    std::map<std::string_view, PrototypeBank::Score> labels;
    std::map<std::string_view, double> groups;  // the score of the group's best label
    // The best that reach their threshold; "" if none does.
    std::string_view best_label, best_group;
  };
  /// `text` is the query itself; its language counts.
  Reading read(std::span<const float> query, std::string_view text) const;

  /// The label's own threshold, or that of the knowledge base.
  double threshold(std::string_view label) const;
  /// Returns whether a label of the group reaches its threshold.
  bool reaches(const Reading& reading, std::string_view group) const;
  /// Returns best_score, best_matched_score, or a metric of the configuration; 0 for another name.
  double metric(const Reading& reading, std::string_view name) const;
  /// The names that metric() accepts.
  std::vector<std::string_view> metrics() const;
  const config::KnowledgeBase& config() const { return config_; }

 private:
  explicit KnowledgeBase(config::KnowledgeBase config) : config_(std::move(config)) {}

  const config::KnowledgeBase config_;  // completed from the manifest
  std::vector<std::string> labels_;
  std::vector<std::vector<std::string>> examples_;  // (labels)
  std::vector<PrototypeBank> banks_;                // (labels)
};

}  // namespace signalbox::signals
