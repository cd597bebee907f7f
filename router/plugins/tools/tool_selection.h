#pragma once
// Which tools a request goes on with where the model is free to choose among them: those that fit
// what the user says, out of the client's own and of a database.

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

struct ToolChoice {
  std::vector<bool> keep;          // (the request's tools)
  std::vector<std::string> added;  // JSON, behind them
  Report report;
};

/// Cosines with the user's text.
struct ToolSimilarities {
  bool ready = false;
  std::vector<double> own;        // (the request's tools)
  std::vector<double> database;   // (the database's)
  std::deque<std::string> texts;  // that were embedded; Inputs looks at them as long as it lives
};

/// Tools of a file, embedded where there is an embedder.
struct ToolDatabase {
  std::vector<Tool> tools;
  std::vector<float> vectors;  // (tools, dim) or empty
};

/// What the selectors of a routing share. Not thread-safe; their cache is.
class ToolShelf {
 public:
  /// `source` is the configuration's file, beside which databases are looked for as well. The
  /// embedder may be absent.
  ToolShelf(std::string_view source, const engine::TextEmbedder* embedder)
      : source_(source), embedder_(embedder) {}

  /// Reads and embeds a database, once. nullptr where there is no such file, and missing() then
  /// has its path. Errors: read_database()'s, the embedder's.
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

/// Immutable but for its cache, and thread-safe.
class ToolSelector {
 public:
  enum class Mode : uint8_t {
    kAdd,     // tools of the database behind the client's
    kFilter,  // the client's that are near enough
    kFit,     // the best of both
  };

  /// For a decision, or for requests without one; nullptr where nothing is chosen. What the
  /// decision says goes before `global.integrations.tools`. The configuration outlives the result.
  static Result<std::unique_ptr<const ToolSelector>> create(const config::Config& config,
                                                            const config::Decision* decision,
                                                            ToolShelf& shelf);

  /// Whether the request leaves the choice to the model ("auto", or nothing said beside tools),
  /// says something, and there is something to choose. "none", "required" and a named tool are the
  /// client's choice, which stands.
  bool applies_to(const request::ChatRequest& request) const;
  bool needs_embedder() const { return policy_.weights.needs_embedder(); }
  /// Whether compare() can be asked, and has to be.
  bool compares() const { return needs_embedder() && embedder_ != nullptr; }
  /// Embeds what is not in the cache. Errors are the embedder's.
  Result<void> compare(signals::Inputs& inputs, ToolSimilarities& out) const;
  /// Tools that the conversation has called stay, unless they are blocked, and so does what is no
  /// function. Where embeddings are needed and not `ready`, the fallback of the configuration.
  ToolChoice choose(const request::ChatRequest& request, const ToolSimilarities& similarities,
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
  void choose_ranked(std::string_view said, std::string_view category, const std::vector<Tool>& own,
                     const ToolSimilarities& similarities, ToolChoice& choice) const;
  std::string_view strategy() const;
  static void report(const std::vector<Tool>& own, ToolChoice& choice);
  void fall_back(const std::vector<Tool>& own, ToolChoice& choice) const;

  Policy policy_;
  std::shared_ptr<const ToolDatabase> database_;  // shared with other selectors; may be none
  const engine::TextEmbedder* embedder_;
  std::shared_ptr<VectorCache> cache_;  // shared with other selectors
};

}  // namespace signalbox::plugins
