#pragma once
// Probes are requests with the outcome that a routing configuration should give them, in the file
// format of the Semantic Router's recipes. They are evaluated in this process, without a socket or
// an upstream server.
//
//   recipe: NAME                            # the recipe to evaluate; also per group or variant
//   model: NAME                             # the model that requests name; likewise
//   decisions:
//     - id: NAME
//       expected_decision: NAME             # expected_algorithm, expected_plugins, expected_alias
//       variants:
//         - id: NAME
//           query: TEXT                     # or messages: [{role, content}]; repeat: N;
//                                           # tools: [...]
//           expected_signals: {keywords: [NAME]}   # and forbidden_signals; projection among them
//           tags: [TAG]

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "router/routing/router.h"

namespace signalbox::tools {

/// One request of the file.
struct Probe {
  std::string id;         // GROUP/VARIANT
  std::string request;    // a chat request as JSON
  std::string recipe;     // "": the recipe that the request's model selects
  std::string decision;   // the expected decision
  std::string algorithm;  // "": not checked
  std::string alias;      // the model that answers; "": not checked
  std::optional<std::vector<std::string>> plugins;            // in any order
  std::map<std::string, std::vector<std::string>> signals;    // by type; they must match
  std::map<std::string, std::vector<std::string>> forbidden;  // by type; they must not match
  std::vector<std::string> tags;
};

struct Rate {
  size_t passed = 0;
  size_t total = 0;
  void add(bool pass) {
    ++total;
    passed += pass ? 1 : 0;
  }
};

struct ProbeFailure {
  std::string id;
  std::vector<std::string> checks;  // "decision: expected a, found b"
  std::vector<std::string> causes;  // leaves that keep the expected decision from matching
  std::set<std::string> lacking;    // "TYPE: REASON" of those that cannot be computed
};

struct ProbeReport {
  Rate variants;
  /// The number of failures that involve a signal type that cannot be computed, by type and reason:
  /// "domain: no model is configured for them". In the other failures, a condition had an
  /// unexpected result.
  std::map<std::string, size_t> lacking;
  /// By kind and name; the kinds are decision, signal ("keyword:urgent"), projection, algorithm,
  /// plugin and tag.
  std::map<std::string, std::map<std::string, Rate>> rates;
  std::vector<ProbeFailure> failures;
};

/// Errors: those of yaml::load; kInvalid with the path of the mistake, also for a file without
/// probes. `model`: the router's automatic model name, used if the file names no model.
Result<std::vector<Probe>> load_probes(const std::filesystem::path& path, std::string_view model);

/// Evaluates every signal of every probe. Errors: those of a model that fails; kNotFound for an
/// unknown recipe.
Result<ProbeReport> run_probes(const routing::Router& router, const std::vector<Probe>& probes);

std::string probe_report_json(const ProbeReport& report);
std::string probe_report_text(const ProbeReport& report);

}  // namespace signalbox::tools
