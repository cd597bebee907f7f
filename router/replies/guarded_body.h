#pragma once
// Checks and edits a reply that does not stream, before the client gets any of it.

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "router/replies/reply_guard.h"
#include "router/request/native_request.h"

namespace signalbox::replies {

/// The edited reply that the client gets.
struct GuardedBody {
  std::string body;       // with the warnings
  std::string warnings;   // names, separated by commas: x-vsr-response-warnings
  std::string unchecked;  // names of failed checks: x-vsr-response-unchecked
  std::string refusal;    // why the reply is withheld; "": it is not
  ReplyOutcome outcome;
};

/// A reply in the API of its server: a message or a response, or a chat or plain completion.
class WholeReply {
 public:
  /// `api`: nullopt for a completion. Returns nullopt for any other body.
  static std::optional<WholeReply> read(std::string body,
                                        std::optional<request::Api> api = std::nullopt);

  /// The whole text of each choice.
  std::vector<ReplyWindow> windows() const;
  /// Applies `verdict`; nullptr means that nothing was checked.
  GuardedBody judged(const ReplyRules& rules, const ReplyVerdict* verdict) const;

 private:
  WholeReply(json::Document document, std::optional<request::Api> api)
      : document_(std::move(document)), api_(api) {}
  json::Document document_;
  std::optional<request::Api> api_;
};

/// Marks a body that cannot be parsed as unchecked.
GuardedBody unread(const ReplyRules& rules, std::string body);

/// The warnings that are known before a reply begins: unverified_factual, or none.
std::string early_warnings(const ReplyRules& rules);

}  // namespace signalbox::replies
