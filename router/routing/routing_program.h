#pragma once
// One routing of the configuration, compiled: its signals, the values derived from them, and its
// rules. A file has one routing at its top and one in each recipe.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "router/config/config.h"
#include "router/models/models.h"
#include "router/routing/decision/engine.h"
#include "router/routing/decision/leaf_values.h"
#include "router/routing/planner.h"
#include "router/signals/signal.h"

namespace signalbox::routing {

/// Immutable and thread-safe once created. It cannot be moved, because its parts hold references to
/// each other.
class RoutingProgram {
 public:
  /// The signals of one type. `first` is the number of the first one.
  struct Group {
    std::unique_ptr<const signals::SignalType> signals;
    uint32_t first;

    uint32_t size() const { return static_cast<uint32_t>(signals->size()); }
    /// True if at least one of them can be computed.
    bool is_available() const;
  };

  /// `recipe` is the name of the routing. create() embeds the examples of all signals, which takes
  /// some hundred milliseconds. Errors are those of make_signals(), LeafValues::create() and
  /// Planner::create(). All arguments must outlive the result.
  static Result<std::unique_ptr<const RoutingProgram>> create(const config::Config& config,
                                                              std::string_view recipe,
                                                              const config::Routing& routing,
                                                              const models::Models& models,
                                                              const Stores& stores);

  const std::string& recipe() const { return recipe_; }
  const config::Routing& routing() const { return routing_; }
  const std::vector<Group>& groups() const { return groups_; }
  /// The number of signals that are computed; their numbers are 0 to signals() - 1.
  uint32_t signals() const { return signals_; }
  const decision::LeafValues& leaf_values() const { return *leaf_values_; }
  const decision::Engine& engine() const { return *engine_; }
  const signals::Compression& compression() const { return compression_; }
  const Planner& planner() const { return *planner_; }
  /// Notices for the operator about the signals and the plans, one line each.
  const std::vector<std::string>& notices() const { return notices_; }

 private:
  RoutingProgram(const config::Config& config, std::string_view recipe,
                 const config::Routing& routing)
      : recipe_(recipe), routing_(routing), compression_(config.modules.prompt_compression) {}

  Result<void> compile(const config::Config& config, const models::Models& models,
                       const Stores& stores);
  uint32_t find(std::string_view type, std::string_view name) const;
  config::Rule::OnError on_failure(const config::Rule& leaf, bool blocks,
                                   const config::Modules& modules) const;
  uint32_t stage_of(uint32_t number) const;
  const signals::SignalType& signals_of(uint32_t number) const;
  void add_notices(const config::Config& config, const models::Models& models,
                   const signals::SignalType& type);

  std::string recipe_;
  const config::Routing& routing_;
  signals::Compression compression_;
  std::vector<Group> groups_;
  uint32_t signals_ = 0;
  std::optional<decision::LeafValues> leaf_values_;
  std::optional<decision::Engine> engine_;
  std::optional<Planner> planner_;
  std::vector<std::string> notices_;
};

}  // namespace signalbox::routing
