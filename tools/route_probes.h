#pragma once
// Probes: requests and what a routing configuration should make of them, in the files that
// upstream's recipes come with. They are evaluated in this process, without a socket or an upstream
// server.
//
//   recipe: NAME                            # whose rules are asked; also of a group or a variant,
//   model: NAME                             # and so is what the requests ask for
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
  std::string id;       // GROUP/VARIANT
  std::string request;  // a chat request as JSON
  std::string recipe;   // "": the one that the request's model leads to
  std::string decision;
  std::string algorithm;                            // "": not asked for
  std::string alias;                                // the model that answers; "": not asked for
  std::optional<std::vector<std::string>> plugins;  // any order
  std::map<std::string, std::vector<std::string>> signals;    // that match, by type
  std::map<std::string, std::vector<std::string>> forbidden;  // that do not
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
  std::set<std::string> lacking;    // signals among them that cannot be computed, by type and why
};

struct ProbeReport {
  Rate variants;
  /// How many failures a type of signals has a part in that cannot be computed: "domain: no model
  /// is configured for them". The others are conditions that turn out otherwise than expected.
  std::map<std::string, size_t> lacking;
  /// By decision, signal ("keyword:urgent"), projection, algorithm, plugin and tag.
  std::map<std::string, std::map<std::string, Rate>> rates;
  std::vector<ProbeFailure> failures;
};

/// Errors: those of yaml::load, and kInvalid with the path of what is wrong, a file without probes
/// among it. `model`: an automatic name of the router's, where the file says nothing.
Result<std::vector<Probe>> load_probes(const std::filesystem::path& path, std::string_view model);

/// Evaluates every signal of every probe. Errors are those of a model that fails, and kNotFound for
/// a recipe that is not there.
Result<ProbeReport> run_probes(const routing::Router& router, const std::vector<Probe>& probes);

std::string probe_report_json(const ProbeReport& report);
std::string probe_report_words(const ProbeReport& report);

}  // namespace signalbox::tools
