#pragma once
// Windows of a reply against what its request knows: claims against the context, and the text
// itself for attempts to override instructions. Runs models; whoever calls says on which thread.

#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "router/replies/reply_guard.h"
#include "router/safety/grounding/grounding.h"
#include "router/text/read_text.h"

namespace signalbox::replies {

/// What a request holds a reply to.
struct GroundTruth {
  std::string context;   // results of tools and of retrieval, system messages, what was said before
  std::string question;  // the user's last message
  /// What is the context, if nothing but system messages: they may be instructions, so a sentence
  /// counts only if it, or the question, speaks of the same as they do. "": not so.
  std::string instructions;
  bool empty = true;  // there is nothing to hold a reply to
};

/// Which spans of a model that marks tokens count; findings without a model always do.
struct SpanRules {
  double score_min = 0;
  uint32_t words_min = 0;
};

/// A classifier of attempts.
struct JailbreakJudge {
  std::shared_ptr<const engine::TextModel> model = nullptr;  // null: there is none
  size_t head = 0;
  std::vector<size_t> positive = {};  // labels that count as an attempt
  double threshold = 0.7;
};

/// Of one reply. One call at a time, from whatever thread; owns or shares all that it needs.
class ReplyCheck {
 public:
  /// A check that the rules ask for and that has no checker or no model fails, each time.
  ReplyCheck(const ReplyRules& rules, GroundTruth truth,
             std::shared_ptr<const grounding::Checker> checker, const SpanRules& spans,
             JailbreakJudge judge);

  /// `patience`: how long the classifier's queue may hold it up.
  ReplyVerdict check(const std::vector<ReplyWindow>& windows, const engine::Patience& patience);

 private:
  Result<void> ground(const ReplyWindow& window, ReplyFinding& out);
  Result<void> classify(const ReplyWindow& window, const engine::Patience& patience,
                        ReplyFinding& out) const;
  Result<void> prepare();
  bool counts(const grounding::Span& span, std::string_view text) const;
  std::vector<text::Sentence> speaking(std::string_view answer) const;

  const ReplyRules rules_;
  GroundTruth truth_;
  const std::shared_ptr<const grounding::Checker> checker_;
  const SpanRules spans_;
  const JailbreakJudge judge_;
  std::shared_ptr<const grounding::Context> context_;  // once it was asked for
  // Words that say something, without their endings: of the instructions, and those of them that
  // the question has.
  std::unordered_set<std::string> instruction_words_, asked_words_;
};

}  // namespace signalbox::replies
