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

namespace signalbox::router {

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

}  // namespace signalbox::router
