#pragma once
// Checks windows of a reply: its claims against the request's context, and its text for attempts to
// override instructions. Runs models on the caller's thread.

#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "router/replies/reply_guard.h"
#include "router/safety/grounding/grounding.h"
#include "router/text/read_text.h"

namespace signalbox::replies {

/// The parts of a request that its reply is checked against.
struct GroundTruth {
  // Results of tools and of retrieval, system messages, earlier messages of the user
  std::string context;
  std::string question;  // the user's last message
  /// The system messages if there are no tool results, else "". They may be instructions, so a
  /// sentence counts only if it shares their subject, or if the question does.
  std::string instructions;
  bool empty = true;  // there is nothing to check a reply against
};

/// Selects the spans that count if a token classifier marked them. Spans found without a model
/// always count.
struct SpanRules {
  double score_min = 0;
  uint32_t words_min = 0;
};

/// A classifier of jailbreak attempts.
struct JailbreakJudge {
  std::shared_ptr<const engine::TextModel> model = nullptr;  // nullptr: there is none
  size_t head = 0;
  std::vector<size_t> positive = {};  // labels that count as an attempt
  double threshold = 0.7;
};

/// Checks one reply. Allows one call at a time, from any thread. Owns or shares all that it needs.
class ReplyCheck {
 public:
  /// A check that the rules require fails each time if it has no checker or no model.
  ReplyCheck(const ReplyRules& rules, GroundTruth truth,
             std::shared_ptr<const grounding::Checker> checker, const SpanRules& spans,
             JailbreakJudge judge);

  /// `patience` limits the wait for the models.
  ReplyVerdict check(const std::vector<ReplyWindow>& windows, const engine::Patience& patience);

 private:
  Result<void> check_grounding(const ReplyWindow& window, const engine::Patience& patience,
                               ReplyFinding& out);
  Result<void> check_jailbreak(const ReplyWindow& window, const engine::Patience& patience,
                               ReplyFinding& out) const;
  Result<void> prepare();
  bool counts(const grounding::Span& span, std::string_view text) const;
  std::vector<text::Sentence> relevant_sentences(std::string_view answer) const;

  const ReplyRules rules_;
  GroundTruth truth_;
  const std::shared_ptr<const grounding::Checker> checker_;
  const SpanRules spans_;
  const JailbreakJudge judge_;
  std::shared_ptr<const grounding::PreparedContext> context_;  // prepared at the first check
  // Stems of the content words of the instructions, and those of them that the question contains.
  std::unordered_set<std::string> instruction_words_, question_words_;
};

}  // namespace signalbox::replies
