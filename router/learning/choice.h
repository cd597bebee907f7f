#pragma once
// Adaptation and protection: which model answers, after the decision's algorithm has chosen one.
// Pure.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "router/learning/features.h"
#include "router/learning/rules.h"
#include "router/learning/situation.h"

namespace signalbox::learning {

/// A model that the decision may choose.
struct Option {
  std::string_view model;
  std::string_view upstream_name;
  std::optional<double> score;  // the algorithm's, about 0 to 1; nullopt: it has none
};

/// The effect of learning on a choice, and its reason.
struct Report {
  /// The words of the vLLM Semantic Router if it has them. "": the method is switched off.
  struct Step {
    std::string_view action, reason;
  };
  struct Value {
    std::string model;
    double score;       // the algorithm's
    double adjustment;  // by outcomes: what they promise, less kNeutral
    Tally tally;
    int64_t with_features = 0;         // verdicts that the regression has
    std::optional<double> bonus = {};  // how much more the model may achieve; nullopt: none
    // The number that an experiment compares instead of the expected value: a sample, or that value
    // with its bonus. Nullopt: there is no experiment.
    std::optional<double> tried = {};
  };
  Step adaptation, protection;
  std::string_view scope;  // "conversation" or "session"
  Source source = Source::kNone;
  std::optional<Conversation> past;
  std::string base;            // the algorithm's choice
  std::string proposal;        // adaptation's choice
  std::optional<double> gain;  // of the proposal over the conversation's model
  double needed = 0;           // the gain that a change of the model needs
  std::vector<Value> values;
  std::optional<uint32_t> seed;      // of the samples; nullopt: there are none
  std::optional<Features> features;  // of the request; nullopt: not needed

  /// True if the experiment has chosen another model than the scores would have.
  bool explores() const { return adaptation.reason == "explored"; }
  /// True if the conversation's model answers.
  bool holds() const { return protection.action == "hold_current"; }
  /// Why the model answers, if it is not the algorithm's choice, for people.
  std::string words() const;
};

/// Returns the index of the model that answers. `base` is the algorithm's choice. `decision` is
/// the result of scope_of(). `features` are those of the request with its signals; nullopt: the
/// rules need none. `seed` is that of the samples; nullopt: the request is not an experiment. No
/// samples are drawn either for a conversation that keeps its model and in a loop of tools.
size_t choose(std::span<const Option> options, size_t base, std::string_view decision,
              const Situation& situation, const Rules& rules,
              const std::optional<Features>& features, std::optional<uint32_t> seed,
              Report& report);

/// The cost of changing the model: a constant, a part for the text that the next server must read
/// anew, and a part for each earlier change.
double switch_cost(const Situation& situation);

/// The model that must answer because the request brings results of tools that this model has
/// called; null if there is none. It also holds for another decision than before.
const Answerer* tool_caller(const Situation& situation, const Rules& rules);
Report tool_loop_report(const Situation& situation, const Rules& rules);

/// Writes a member "learning".
void write(const Report& report, json::Writer& out);

}  // namespace signalbox::learning
