#pragma once
// Checks and edits a reply that does not stream, before the client gets any of it.

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "router/replies/reply_guard.h"

namespace signalbox::replies {

/// The edited reply that the client gets.
struct GuardedBody {
  std::string body;       // with the warnings
  std::string warnings;   // names, separated by commas: x-vsr-response-warnings
  std::string unchecked;  // names of failed checks: x-vsr-response-unchecked
  std::string refusal;    // why the reply is withheld; "": it is not
  ReplyOutcome outcome;
};

/// A chat completion or a plain completion.
class WholeReply {
 public:
  /// Returns nullopt for any other body.
  static std::optional<WholeReply> read(std::string body);

  /// The whole text of each choice.
  std::vector<ReplyWindow> windows() const;
  /// Applies `verdict`; nullptr means that nothing was checked.
  GuardedBody judged(const ReplyRules& rules, const ReplyVerdict* verdict) const;

 private:
  explicit WholeReply(json::Document document) : document_(std::move(document)) {}
  json::Document document_;
};

/// Marks a body that cannot be parsed as unchecked.
GuardedBody unread(const ReplyRules& rules, std::string body);

/// The warnings that are known before a reply begins: unverified_factual, or none.
std::string early_warnings(const ReplyRules& rules);

}  // namespace signalbox::replies
