#pragma once
// Plain values that the stages of a reply check pass on: the rules, the windows of text, and the
// findings.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::replies {

/// The reaction to a finding.
enum class ReplyAction : uint8_t {
  kNone,      // count it
  kAnnotate,  // add a mark next to the text
  kWarn,      // add a warning to the text
  kEnd,       // end the reply
};

struct ReplyRules {
  bool grounding = false;  // search for claims that the request's context does not support
  ReplyAction on_hallucination = ReplyAction::kAnnotate;
  bool details = false;     // findings name the spans
  bool unverified = false;  // the request needs facts and has no context
  ReplyAction on_unverified = ReplyAction::kAnnotate;
  bool jailbreak = false;  // search for attempts to override instructions
  ReplyAction on_jailbreak = ReplyAction::kAnnotate;
  bool fails_closed = false;  // a failed jailbreak check counts as an attempt
};

/// Sentences of one choice of a reply.
struct ReplyWindow {
  int64_t choice = 0;
  std::string before;  // preceding text that helps to understand them
  std::string text;
  uint64_t begin = 0;  // code points of the choice's text before `text`
};

struct ReplySpan {
  uint64_t begin = 0, end = 0;  // code points of the choice's text, half-open
  std::string text;
  std::string_view verdict;  // a verdict_name()
  double score = 0;
};

/// The findings in one window.
struct ReplyFinding {
  int64_t choice = 0;
  std::vector<ReplySpan> spans;  // unsupported spans
  double jailbreak = 0;          // probability of an attempt; 0: none was found
};

/// The result of checking some windows.
struct ReplyVerdict {
  std::vector<ReplyFinding> findings;
  bool grounding_failed = false;  // part of the text was not checked against the context
  bool jailbreak_failed = false;  // part of the text was not checked for attempts
  double seconds = 0;             // duration of the check
};

/// The result of one kind of check for a reply.
enum class ReplyState : uint8_t { kOff, kClean, kFound, kUnchecked, kUnverified };
/// "clean", "found", "unchecked", "unverified"; "" for kOff.
std::string_view name_of(ReplyState state);

struct ReplyOutcome {
  ReplyState grounding = ReplyState::kOff;
  ReplyState jailbreak = ReplyState::kOff;
  uint32_t spans = 0;
  bool ended = false;   // the reply was ended, or withheld
  double seconds = 0;   // of all checks
  uint32_t checks = 0;  // number of runs
};

/// Names that the vLLM Semantic Router uses in x-vsr-response-warnings.
inline constexpr std::string_view kHallucination = "hallucination";
inline constexpr std::string_view kUnverified = "unverified_factual";
inline constexpr std::string_view kResponseJailbreak = "response_jailbreak";

}  // namespace signalbox::replies
