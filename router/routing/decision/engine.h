#pragma once
// Chooses the decision of a request from the signals that are known so far. Pure: no clock, no
// randomness, no file.
//
// A signal that has not been computed is an interval: it may match or not, with any confidence.
// Intervals pass through AND, OR and NOT by Kleene's three-valued logic, so every decision has
// bounds on its truth and its confidence. The outcome is fixed as soon as the bounds of one
// decision beat those of all others. The remaining signals need never be computed.

#include <cstdint>
#include <span>
#include <vector>

#include "router/config/routing.h"
#include "router/routing/decision/evidence.h"
#include "router/routing/decision/rules.h"

namespace signalbox::decision {

inline constexpr int32_t kNoDecision = -1;

/// Work space of evaluate(), reused between requests. Each is (nodes().size()), or empty if the
/// strategy does not need it. `evidence` has no meaning for decisions that cannot match.
struct Scratch {
  std::vector<Value> values;
  std::vector<Stages> stages;
  std::vector<Evidence> evidence;
};

struct Outcome {
  bool fixed = false;                // no signal that is still unknown changes the others
  int32_t decision = kNoDecision;    // the best of those that certainly match
  int32_t unresolved = kNoDecision;  // the first one that must be known (on_unknown) and is not
  double confidence = 0;             // the least confidence it can have
};

/// The decisions that may win: all, or only those that concern requests which name their model. A
/// guard refuses such a request (its plugin is fast_response) because of an attack, risky content
/// or personal data, and a decision with an action sends it to another model. The decision that
/// masks its personal data is found apart from these.
enum class Among : uint8_t { kAll, kGuards, kMasks };

/// The compiled decisions of a configuration. Among those that match, the lowest tier wins; a
/// decision without one has the tier 0. Within a tier, one without conditions ranks last, and
/// routing.strategy orders the others:
///   priority    priority, confidence, name
///   confidence  confidence, priority, name
/// These two compare confidences only if each of the tier's decisions that match rests on one
/// score, and the kind of these scores is the same.
///   fusion      those of override_confidence or more, then the others; within each group, the one
///               with the cheapest evidence (the request's own, then similarity, then
///               classifiers), then as confidence. This is our extension. Without
///               override_confidence, a match of cheap evidence settles the outcome, and costlier
///               signals are not computed.
/// Immutable and thread-safe.
class Engine {
  using ScoreKind = config::ScoreKind;

 public:
  /// `routing` must outlive the engine. `stage_of` is needed for strategy fusion.
  Engine(const config::Routing& routing, const NumberOf& number_of, const StageOf& stage_of = {});

  /// `signals` holds one value for each signal number. The decision is the one that wins if what is
  /// unknown stays unknown.
  Outcome evaluate(std::span<const Value> signals, Scratch& scratch,
                   Among among = Among::kAll) const;

  /// Sets needed[signal] for each unknown signal that could change the outcome that evaluate() just
  /// returned. Does not touch the others.
  void mark_needed(std::span<const Value> signals, const Scratch& scratch, const Outcome& outcome,
                   std::vector<bool>& needed, Among among = Among::kAll) const;
  bool has_guards() const;
  bool has_masks() const;

  std::span<const Node> nodes() const { return rules_.nodes(); }
  /// The index of a decision's first node.
  uint32_t root(size_t decision) const { return roots_[decision]; }

 private:
  bool takes_part(size_t decision, Among among) const {
    if (among == Among::kAll) return true;
    return among == Among::kGuards ? guards_[decision] : masks_[decision];
  }
  // If confidences are compared in a tier; kMaybe: an unknown signal decides that.
  enum class Compared : uint8_t { kNo, kMaybe, kYes };
  Compared is_compared(int32_t tier, const Scratch& scratch, Among among) const;
  // If they are compared among the decisions that match, if what is unknown stays unknown.
  bool compares_known(int32_t tier, const Scratch& scratch, Among among) const;
  // The values that rank a matching decision, as a lower or an upper bound.
  struct Rank {
    double confidence;
    uint32_t stage;
  };
  Rank rank_known(size_t decision, const Scratch& scratch) const;
  Rank rank_min(size_t decision, const Scratch& scratch) const;
  Rank rank_max(size_t decision, const Scratch& scratch) const;
  // True if the decision must be known before any wins, and an unknown signal may settle it.
  bool must_settle(size_t decision, const Scratch& scratch) const;
  // True if no unknown signal can change the value or the rank of a node.
  bool is_final(uint32_t node, const Scratch& scratch, bool with_evidence) const;
  bool is_better(size_t a, const Rank& a_rank, size_t b, const Rank& b_rank, bool compared) const;
  // True if their confidences decide between the two, if they are compared.
  bool ranks_by_confidence(size_t a, size_t b) const;
  // True if `leader` certainly beats `rival`, should that match.
  bool beats(size_t leader, size_t rival, const Scratch& scratch, Compared compared) const;

  const config::Routing& routing_;
  Rules rules_;
  std::vector<uint32_t> roots_;     // (decisions)
  std::vector<bool> guards_;        // (decisions)
  std::vector<bool> masks_;         // (decisions)
  std::vector<bool> always_match_;  // (decisions) without conditions
  std::vector<ScoreKind> kinds_;    // (decisions) kNone also if they are not compared
  bool uses_evidence_ = false;
  std::vector<uint32_t> name_rank_;  // (decisions) place in the order of names
};

}  // namespace signalbox::decision
