#pragma once
// Factory functions of the signal types that need no header of their own. Each comment gives what
// the type detects, its score and its confidence. Formulas and defaults are the Semantic Router's
// unless stated otherwise. `signals` must outlive the result everywhere.

#include <memory>
#include <set>
#include <vector>

#include "router/config/catalog.h"
#include "router/config/services.h"
#include "router/config/signals.h"
#include "router/models/operating_point.h"
#include "router/signals/signal.h"

namespace signalbox::signals {

using SignalTypeResult = Result<std::unique_ptr<const SignalType>>;

/// Base class: the configured signals of one type, in their order.
template <class Config>
class NamedSignals : public SignalType {
 public:
  explicit NamedSignals(const std::vector<Config>& signals) : signals_(signals) {}
  size_t size() const override { return signals_.size(); }
  std::string_view name(size_t signal) const override { return signals_[signal].name; }

 protected:
  const std::vector<Config>& signals_;
};

/// Returns the place of a signal in the file `source`, for an error; only its name if the line is
/// 0.
std::string place_of(std::string_view source, uint32_t line, std::string_view type,
                     std::string_view name);

// --- only the request ---

/// Length of the request in tokens: the texts of all messages and the tool definitions. The
/// estimate is four bytes per token, because the tokenizers of the models behind the router are
/// unknown. Confidence: 1.
SignalTypeResult context_signals(const std::vector<config::ContextSignal>& signals);

/// Counts structures in the user's last message. count: matches of a pattern, occurrences of
/// keywords as whole words, or bytes. exists: 1 if there is at least one. density: count per text
/// unit (words, and characters of scripts without spaces). sequence: 1 if the texts of one sequence
/// occur in order. Without a predicate, a value above 0 matches. Confidence: 1 without a predicate,
/// otherwise max(0.5, 1 / (1 + exp(-4 * distance to its first bound))). `source` is the file, for
/// errors.
SignalTypeResult structure_signals(const std::vector<config::StructureSignal>& signals,
                                   std::string_view source);

/// Language of the user's last message, by script and frequent words. Score: the share of the
/// language; the one with the greatest share matches from the threshold (0.3) up. A text without
/// letters is English with a share of 0.5.
SignalTypeResult language_signals(const std::vector<config::LanguageSignal>& signals);

/// Counts messages by role, tools, tool calls, their results and images. `exists` matches a count
/// of at least one; `count` matches if the predicate holds, and always without one.
SignalTypeResult conversation_signals(const std::vector<config::ConversationSignal>& signals);

/// Event words in the user's last message: types, codes, severities (critical, high, medium, low),
/// urgency. Score: the share of the configured criteria that hold. One criterion is enough to
/// match; the confidence is 0.5 + 0.5 * score.
SignalTypeResult event_signals(const std::vector<config::EventSignal>& signals);

/// A text in the request's metadata equals a given one. Clients can write any metadata.
SignalTypeResult metadata_signals(const std::vector<config::MetadataSignal>& signals);

/// Messages of the user have a part of this kind. Score: the number of such messages, or of such
/// parts if they are images. Confidence: 1.
SignalTypeResult input_modality_signals(const std::vector<config::InputModalitySignal>& signals);

/// The action that the user's last message requests: generate, explain, fix, refactor, test or
/// other. Names are actions; exactly one matches. Score: the share of the phrases that name an
/// action which name this one. Confidence: 1.
SignalTypeResult action_signals(const std::vector<config::ClassSignal>& signals);

/// A fact about the agent behind the request, if the header with the facts comes with the one that
/// vouches for them and breaks no rule or bound. Confidence: 1.
SignalTypeResult agentic_facts_signals(const std::vector<config::AgenticFactsSignal>& signals,
                                       const config::AgenticFacts& facts);

/// Facts about the conversation. `headers` name the session and the conversation. Score: the fact's
/// number, which the predicate bounds. Confidence: 1.
SignalTypeResult session_signals(const std::vector<config::SessionSignal>& signals,
                                 const config::Learning::Headers& headers);

/// A digit by chance, which is the score. Every signal matches with confidence 1.
SignalTypeResult random_signals(const std::vector<config::ClassSignal>& signals);

/// Roles of the requester, from identity headers that a proxy in front of the router sets. If that
/// proxy passes on these headers from clients, any client can claim any role. Signal names are
/// roles.
SignalTypeResult authz_signals(const std::vector<config::RoleBinding>& bindings,
                               const config::Authz& authz);

// --- meaning: the embedder ---

/// Compares the text with hard and easy examples: margin = score(hard) - score(easy). A margin
/// above hard_above matches NAME:hard, one below easy_below NAME:easy, any other NAME:medium.
/// Score: the margin; confidence: its absolute value. Images are ignored.
SignalTypeResult complexity_signals(const std::vector<config::ComplexitySignal>& signals,
                                    const config::PrototypeScoring& scoring,
                                    const engine::TextEmbedder& embedder);

/// The user's last message is similar to each of the lookback_turns messages before it. Score: the
/// least similarity.
SignalTypeResult reask_signals(const std::vector<config::ReaskSignal>& signals, double exponent);

/// The preference with the nearest examples (or description, if it has no examples) matches from
/// its threshold (0.5) up, if it is at least margin_threshold ahead of the next. Preferences that a
/// language model judges are class_signals().
SignalTypeResult preference_signals(const std::vector<config::PreferenceSignal>& signals,
                                    const config::PrototypeScoring& scoring,
                                    const engine::TextEmbedder& embedder);

/// The nearest `neighbours` of all examples of all intents vote, each weighted by its similarity.
/// An intent matches if it has at least the share `threshold` of the votes and its nearest example
/// has at least the similarity min_similarity. This type is an extension of the Semantic Router.
SignalTypeResult intent_signals(const std::vector<config::IntentSignal>& signals,
                                const engine::TextEmbedder& embedder);

class KnowledgeBase;
/// A label or group of a knowledge base. best: matches if it is the best of those that reach their
/// threshold. threshold: matches if it reaches its own threshold, whatever the others do.
std::unique_ptr<const SignalType> kb_signals(
    const std::vector<config::KbSignal>& signals,
    const std::vector<std::shared_ptr<const KnowledgeBase>>& bases);
/// One signal KB/METRIC per metric. They never match; projections use their scores.
std::unique_ptr<const SignalType> kb_metrics(
    const std::vector<std::shared_ptr<const KnowledgeBase>>& bases);

// --- classifiers ---

/// A head of a model, or the reason why there is none.
struct ModelChoice {
  const engine::TextModel* model = nullptr;
  size_t head = 0;
  std::vector<std::string> labels = {};
  std::string why = {};       // "" if there is a model
  std::string stand_in = {};  // the model's directory if it stands in for the configured one
  std::string server = {};    // shown name of the server that has it; "": it runs here
  bool calls_server() const { return !server.empty(); }
};

/// Signals that stand for classes of one sequence classifier.
struct ClassTask {
  struct Signal {
    std::string name;
    std::vector<std::string> classes;  // compared without case; "-" and "_" equal a space
    double threshold = 0;              // 0: that of the task
  };
  std::string type;
  std::vector<Signal> signals;
  double threshold = 0.5;     // least probability of the best class
  std::string fallback = {};  // the signal that matches if no class reaches the threshold
  bool needs_answer = false;  // only a conversation that contains a model's answer is classified
};

/// A question to a decision model. Score: the probability of yes or of an option, or the expected
/// level. An option matches if it is chosen, and the predicate bounds the score.
std::unique_ptr<const SignalType> question_signals(const config::QuestionSignal& signal,
                                                   ModelChoice choice);

/// Complexity by a server: it chooses the level (`labels` hard, medium and easy), or with
/// `is_scored` returns a number, which the signals' bounds divide. Score: the probability of the
/// level, or the number; confidence: the probability, or 1.
SignalTypeResult rated_complexity_signals(const std::vector<config::ComplexitySignal>& signals,
                                          ModelChoice server, bool is_scored);

/// Score: the highest probability of the signal's classes for the user's last message. The signal
/// with the best class matches.
std::unique_ptr<const SignalType> class_signals(ClassTask task, ModelChoice classifier);

/// One signal for each of `names`, which are labels of a classifier whose labels are independent,
/// compared without case; "-" and "_" equal a space. Score: the highest of a label in the windows
/// of the user's last message; matches from the label's own threshold up, so several may match.
/// Error: kInvalid if the thresholds are for other labels than the model's, or the model's scores
/// are not independent.
SignalTypeResult label_signals(std::string_view classifier, const std::set<std::string>& names,
                               const models::LabelThresholds& thresholds, ModelChoice model);

/// contrastive: the text is split into pieces of half a kilobyte; the score of a piece is its
/// similarity to the nearest jailbreak pattern minus that to the nearest benign pattern; the
/// highest score counts and matches from the threshold (0.1) up. classifier: the probability of
/// prompt_guard's positive_labels ("jailbreak"); matches from the threshold (the signal's, else
/// prompt_guard's, else 0.7) up; long texts are read in windows. hybrid: either of both; the
/// contrastive part uses its default threshold. With include_history every message is read,
/// including the assistant's and tools'.
SignalTypeResult jailbreak_signals(const std::vector<config::JailbreakSignal>& signals,
                                   const config::ClassifierModel& guard, ModelChoice classifier,
                                   const engine::TextEmbedder* embedder);

/// The highest probability of the class `unsafe` in the windows of a text; matches from the
/// threshold (the signal's, else the module's, else 0.5) up.
std::unique_ptr<const SignalType> safety_signals(
    const std::vector<config::JailbreakSignal>& signals, const config::ClassifierModel& module,
    ModelChoice classifier);

/// Entities of a type that is not allowed, found by rules and by the model; matches from the
/// threshold (the signal's, else the classifier's, else 0.9) up. Long texts are read in windows.
/// Without a model only a match is certain. Evidence names types, never the data found.
SignalTypeResult pii_signals(const std::vector<config::PiiSignal>& signals, double threshold,
                             ModelChoice classifier);

/// AR (text), DIFFUSION (an image) or BOTH, by the detector's keywords; exactly one of them
/// matches.
SignalTypeResult modality_signals(std::vector<std::string> names,
                                  const config::ModalityDetection& detection);

}  // namespace signalbox::signals
