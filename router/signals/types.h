#pragma once
// The signal types that are one function each to their users. What each finds, what its score and
// confidence are; formulas and defaults are upstream's unless said otherwise. `signals` outlive the
// result everywhere.

#include <memory>
#include <vector>

#include "router/config/catalog.h"
#include "router/config/services.h"
#include "router/config/signals.h"
#include "router/signals/signal.h"

namespace signalbox::signals {

using MadeSignals = Result<std::unique_ptr<const SignalType>>;

/// What one type has of the configuration, in its order.
template <class Config>
class NamedSignals : public SignalType {
 public:
  explicit NamedSignals(const std::vector<Config>& signals) : signals_(signals) {}
  size_t size() const override { return signals_.size(); }
  std::string_view name(size_t signal) const override { return signals_[signal].name; }

 protected:
  const std::vector<Config>& signals_;
};

/// Signals that can never be computed, and why.
std::unique_ptr<const SignalType> unavailable_signals(std::string_view type,
                                                      std::vector<std::string> names,
                                                      std::string why);

// --- the request as it is ---

/// How long the request is: texts of all messages and definitions of tools, in tokens. They are
/// estimated at four bytes each: no tokenizer of the models behind the router is known. Confidence
/// 1.
MadeSignals context_signals(const std::vector<config::ContextSignal>& signals);

/// What occurs in the last message of the user, and how often. count: matches of a pattern,
/// occurrences of keywords as whole words, or bytes. exists: 1 if there is one. density: count over
/// text units (words, and characters of scripts without spaces). sequence: 1 if the texts of one
/// sequence stand one after the other. Without a predicate, more than 0 matches. Confidence: 1
/// without a predicate, else max(0.5, 1 / (1 + exp(-4 * distance to its first bound))).
MadeSignals structure_signals(const std::vector<config::StructureSignal>& signals);

/// The language of the user's last message by its script and its frequent words. Score: its share;
/// matches from the threshold (0.3) up. A text without letters counts as English with 0.5.
MadeSignals language_signals(const std::vector<config::LanguageSignal>& signals);

/// Messages by role, tools, calls of tools, images. Without a predicate, at least one matches.
/// kInvalid for a source that is not known.
MadeSignals conversation_signals(const std::vector<config::ConversationSignal>& signals);

/// Words of events in the user's last message: types, codes, severities (critical, high, medium,
/// low), urgency. Score: the share of the given criteria that hold; one is enough to match, with
/// confidence 0.5 + 0.5 * score.
MadeSignals event_signals(const std::vector<config::EventSignal>& signals);

/// A text in the request's metadata that equals another. Clients write it as they like.
MadeSignals metadata_signals(const std::vector<config::MetadataSignal>& signals);

/// Roles of the one who asks, by the identity headers that a proxy in front has set; a proxy that
/// lets clients set them lets anyone have any role. Names are roles.
MadeSignals authz_signals(const std::vector<config::RoleBinding>& bindings,
                          const config::Authz& authz);

// --- meanings: the embedder ---

/// The nearer of hard and easy examples: margin = score(hard) - score(easy). Above the threshold it
/// is NAME:hard, below its negative NAME:easy, between them NAME:medium. Score: the margin,
/// confidence its absolute value. Images are not looked at.
MadeSignals complexity_signals(const std::vector<config::ComplexitySignal>& signals,
                               const config::PrototypeScoring& scoring,
                               const engine::TextEmbedder& embedder);

/// The user's last message is close to each of the lookback_turns before it. Score: the least
/// similarity.
MadeSignals reask_signals(const std::vector<config::ReaskSignal>& signals);

/// The preference whose examples (or, without any, description) are nearest, from its threshold
/// (0.5) up. Upstream may ask a language model instead, which is not built.
MadeSignals preference_signals(const std::vector<config::PreferenceSignal>& signals,
                               const config::PrototypeScoring& scoring,
                               const engine::TextEmbedder& embedder);

/// The nearest `neighbours` of all examples of all intents vote, each with its similarity; an
/// intent that has at least `threshold` of the votes matches, if its nearest example is at least
/// min_similarity away. An extension of ours.
MadeSignals intent_signals(const std::vector<config::IntentSignal>& signals,
                           const engine::TextEmbedder& embedder);

class KnowledgeBase;
/// A label or group of a knowledge base. best: it is the best of those that reach their threshold;
/// threshold: it reaches its own, whatever the others do.
std::unique_ptr<const SignalType> kb_signals(
    const std::vector<config::KbSignal>& signals,
    const std::vector<std::shared_ptr<const KnowledgeBase>>& bases);
/// KB/METRIC for each metric, which never match and whose score projections read.
std::unique_ptr<const SignalType> kb_metrics(
    const std::vector<std::shared_ptr<const KnowledgeBase>>& bases);

// --- classifiers ---

/// A head of a model, or why there is none.
struct ModelChoice {
  const engine::TextModel* model = nullptr;
  size_t head = 0;
  std::vector<std::string> labels = {};
  std::string why = {};  // "" when there is a model
};

/// Signals that stand for classes of one sequence classifier.
struct ClassTask {
  struct Signal {
    std::string name;
    std::vector<std::string> classes;  // compared without case, "-" and "_" being spaces
  };
  std::string type;
  std::vector<Signal> signals;
  double threshold = 0.5;     // least probability of the best class
  std::string fallback = {};  // the signal that matches when none is reached
  bool needs_answer = false;  // only a conversation with an answer in it is looked at
};

/// Score: the greatest probability of the signal's classes, of the user's last message. The signal
/// with the best class matches.
std::unique_ptr<const SignalType> class_signals(ClassTask task, ModelChoice classifier);

/// contrastive: over pieces of half a kilobyte, similarity to the nearest attempt less that to the
/// nearest benign text, the greatest of all; from the threshold (0.1) up. classifier: the
/// probability of prompt_guard's positive_labels ("jailbreak"), from the threshold (the signal's,
/// prompt_guard's, 0.7) up; long texts in windows. hybrid: either, the contrastive part with its
/// default threshold. With include_history every message counts, the assistant's and tools' too.
MadeSignals jailbreak_signals(const std::vector<config::JailbreakSignal>& signals,
                              const config::ClassifierModel& guard, ModelChoice classifier,
                              const engine::TextEmbedder* embedder);

/// Entities of a type that is not allowed, by rules and by the model, from the threshold (the
/// signal's, the classifier's, 0.9) up; long texts in windows. Without a model only a match is
/// known. Evidence: types, never what was found.
MadeSignals pii_signals(const std::vector<config::PiiSignal>& signals, double threshold,
                        ModelChoice classifier);

/// AR (text), DIFFUSION (an image) or BOTH, by the detector's words; one of them matches.
MadeSignals modality_signals(std::vector<std::string> names,
                             const config::ModalityDetection& detection);

}  // namespace signalbox::signals
