#pragma once
// What is asked of a reply that is watched, what is looked at, and what is found: plain values that
// those who cut a reply into sentences, check them and act on it hand to each other.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::replies {

/// What follows from a finding.
enum class ReplyAction : uint8_t {
  kNone,      // it is counted
  kAnnotate,  // the reply says so beside its text
  kWarn,      // the text says so
  kEnd,       // the reply ends
};

struct ReplyRules {
  bool grounding = false;  // what the request's context does not support is looked for
  ReplyAction on_hallucination = ReplyAction::kAnnotate;
  bool details = false;     // findings name the spans
  bool unverified = false;  // facts are asked for and there is no context
  ReplyAction on_unverified = ReplyAction::kAnnotate;
  bool jailbreak = false;  // attempts to override instructions are looked for
  ReplyAction on_jailbreak = ReplyAction::kAnnotate;
  bool fails_closed = false;  // what could not be looked at for attempts counts as one
};

/// Sentences of one choice of a reply.
struct ReplyWindow {
  int64_t choice = 0;
  std::string before;  // what stands in front of them, as much as helps to understand them
  std::string text;
  uint64_t begin = 0;  // code points of the choice's text in front of `text`
};

struct ReplySpan {
  uint64_t begin = 0, end = 0;  // code points of the choice's text, half-open
  std::string text;
  std::string_view verdict;  // as verdict_name() says it
  double score = 0;
};

/// In one window.
struct ReplyFinding {
  int64_t choice = 0;
  std::vector<ReplySpan> spans;  // that nothing supports
  double jailbreak = 0;          // how probable an attempt is; 0: none was found
};

/// Of some windows.
struct ReplyVerdict {
  std::vector<ReplyFinding> findings;
  bool grounding_failed = false;  // not all of it could be held against the context
  bool jailbreak_failed = false;  // nor looked at for attempts
  double seconds = 0;             // that looking took
};

/// What became of one check of a reply.
enum class ReplyState : uint8_t { kOff, kClean, kFound, kUnchecked, kUnverified };
/// "clean", "found", "unchecked", "unverified"; "" for kOff.
std::string_view name_of(ReplyState state);

struct ReplyOutcome {
  ReplyState grounding = ReplyState::kOff;
  ReplyState jailbreak = ReplyState::kOff;
  uint32_t spans = 0;
  bool ended = false;   // the reply was ended, or withheld
  double seconds = 0;   // of all checks
  uint32_t checks = 0;  // runs of them
};

/// Names as the vLLM Semantic Router has them in x-vsr-response-warnings.
inline constexpr std::string_view kHallucination = "hallucination";
inline constexpr std::string_view kUnverified = "unverified_factual";
inline constexpr std::string_view kResponseJailbreak = "response_jailbreak";

}  // namespace signalbox::replies
