#pragma once
// A reply that does not stream, checked before the client gets any of it.

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "router/replies/reply_guard.h"

namespace signalbox::replies {

/// What the client gets.
struct GuardedBody {
  std::string body;       // with what is to be said of it
  std::string warnings;   // names, with commas: x-vsr-response-warnings
  std::string unchecked;  // names of what was not looked for: x-vsr-response-unchecked
  std::string refusal;    // why the reply is withheld; "": it is not
  ReplyOutcome outcome;
};

/// A chat completion, or a plain one.
class WholeReply {
 public:
  /// Nothing for a body that is neither.
  static std::optional<WholeReply> read(std::string body);

  /// Each choice's text, whole.
  std::vector<ReplyWindow> windows() const;
  /// `verdict` null: nothing was checked.
  GuardedBody judged(const ReplyRules& rules, const ReplyVerdict* verdict) const;

 private:
  explicit WholeReply(json::Document document) : document_(std::move(document)) {}
  json::Document document_;
};

/// What is told of a body that nobody can read.
GuardedBody unread(const ReplyRules& rules, std::string body);

/// What is told before a reply has begun: unverified_factual, or nothing.
std::string early_warnings(const ReplyRules& rules);

}  // namespace signalbox::replies
