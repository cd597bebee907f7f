#pragma once
// Selects the tools of a request if the model is free to choose among them: those of the client and
// of a database that fit the user's text.

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "router/config/config.h"
#include "router/plugins/tools/ranking.h"
#include "router/plugins/tools/report.h"
#include "router/plugins/tools/vector_cache.h"
#include "router/signals/inputs.h"

namespace signalbox::plugins {

struct ToolSelection {
  std::vector<bool> keep;          // (the request's tools)
  std::vector<std::string> added;  // JSON, appended to the kept tools
  Report report;
};

/// Cosines with the user's text.
struct ToolSimilarities {
  bool ready = false;
  std::vector<double> own;        // (the request's tools)
  std::vector<double> database;   // (the database's tools)
  std::deque<std::string> texts;  // embedded texts; they must stay in place while Inputs exists
};

/// The tools of a file, with embeddings if there is an embedder.
struct ToolDatabase {
  std::vector<Tool> tools;
  std::vector<float> vectors;  // (tools, dim) or empty
};

/// Data that the selectors of a routing share. Not thread-safe, except for the cache.
class ToolShelf {
 public:
  /// `source` is the configuration file; database paths are first looked up relative to it.
  /// `embedder` may be null.
  ToolShelf(std::string_view source, const engine::TextEmbedder* embedder)
      : source_(source), embedder_(embedder) {}

  /// Reads and embeds a database once. Returns nullptr if the file does not exist, and then
  /// missing() contains its path. Returns the errors of read_database() and of the embedder.
  Result<std::shared_ptr<const ToolDatabase>> database(const std::string& path);
  const std::vector<std::string>& missing() const { return missing_; }
  const engine::TextEmbedder* embedder() const { return embedder_; }
  const std::shared_ptr<VectorCache>& cache() const { return cache_; }

 private:
  std::string source_;
  const engine::TextEmbedder* embedder_;
  std::shared_ptr<VectorCache> cache_ = std::make_shared<VectorCache>();
  std::map<std::string, std::shared_ptr<const ToolDatabase>> databases_;
  std::vector<std::string> missing_;
};

/// Immutable except for its cache, and thread-safe.
class ToolSelector {
 public:
  enum class Mode : uint8_t {
    kAdd,     // append tools of the database to the client's
    kFilter,  // keep the client's tools that are similar enough
    kFit,     // the best tools of both
  };

  /// Creates the selector of a decision, or of requests without a decision; nullptr if no tools are
  /// selected. The decision's settings take precedence over `global.integrations.tools`. The
  /// configuration must outlive the result.
  static Result<std::unique_ptr<const ToolSelector>> create(const config::Config& config,
                                                            const config::Decision* decision,
                                                            ToolShelf& shelf);

  /// Returns whether the request lets the model choose ("auto", or tools without tool_choice), has
  /// user text, and there are tools to select from. "none", "required" and a named tool are the
  /// client's own choice, which stays.
  bool applies_to(const request::ChatRequest& request) const;
  bool needs_embedder() const { return policy_.weights.needs_embedder(); }
  /// Returns whether compare() is possible and necessary before choose().
  bool compares() const { return needs_embedder() && embedder_ != nullptr; }
  /// Embeds the texts that are not in the cache. Returns the embedder's errors.
  Result<void> compare(signals::Inputs& inputs, ToolSimilarities& out) const;
  /// Selects the tools. Tools that the conversation has called stay unless they are blocked, and so
  /// do tools that are not functions. If embeddings are needed and not `ready`, the configured
  /// fallback applies.
  ToolSelection choose(const request::ChatRequest& request, const ToolSimilarities& similarities,
                       std::string_view category, double confidence) const;

 private:
  struct Policy {
    Mode mode = Mode::kFilter;
    Weights weights;
    Bounds bounds;
    size_t preserve = 0;
    double category_confidence = 0;
    bool fallback_to_empty = false;
    std::vector<const std::vector<std::string>*> allow, block;
  };
  static void read_filtering(const config::ToolFiltering& filtering, Policy& policy);

  ToolSelector(Policy policy, std::shared_ptr<const ToolDatabase> database, const ToolShelf& shelf)
      : policy_(std::move(policy)),
        database_(std::move(database)),
        embedder_(shelf.embedder()),
        cache_(shelf.cache()) {}

  bool is_allowed(std::string_view name) const;
  bool offers_database() const;
  Result<double> similarity(signals::Inputs& inputs, std::span<const float> query, std::string text,
                            ToolSimilarities& out) const;
  std::vector<Candidate> candidates(const std::vector<Tool>& own,
                                    const ToolSimilarities& similarities,
                                    std::vector<size_t>& places) const;
  void choose_ranked(std::string_view user_text, std::string_view category,
                     const std::vector<Tool>& own, const ToolSimilarities& similarities,
                     ToolSelection& selection) const;
  std::string_view strategy() const;
  static void report(const std::vector<Tool>& own, ToolSelection& selection);
  void fall_back(const std::vector<Tool>& own, ToolSelection& selection) const;

  Policy policy_;
  std::shared_ptr<const ToolDatabase> database_;  // shared with other selectors; may be null
  const engine::TextEmbedder* embedder_;
  std::shared_ptr<VectorCache> cache_;  // shared with other selectors
};

}  // namespace signalbox::plugins
