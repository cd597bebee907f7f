#pragma once
// A request of System One, the API of small models that choose, score and judge: a state, and
// questions about it, each with an answer of its own. The figures of the answers decide whether a
// cascade accepts them.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "router/config/algorithm.h"
#include "router/looper/reply.h"

namespace signalbox::looper {

/// A request with more questions is refused, because each answer is searched on an event loop.
inline constexpr size_t kQuestionsMax = 256;

struct Question {
  enum class Type : uint8_t { kChoice, kScore, kNoul };
  std::string state;  // "": that of the request itself
  std::string name;
  Type type = Type::kNoul;
  std::vector<std::string> choices;  // of a choice
  size_t levels = 0;                 // of a score
  bool needs_full_input = false;     // the answer must state that nothing was cut
};

/// Errors: kInvalid with the path of the member, kTooLarge.
Result<std::vector<Question>> read_questions(const json::Value& request);

/// The report of a model about an answer.
struct AnswerFigures {
  std::optional<double> top_probability, confidence, margin;
};

/// One element a question; nullopt: there is no answer to it, or one that the question forbids.
std::vector<std::optional<AnswerFigures>> read_answers(const json::Value& reply,
                                                       std::span<const Question> questions);

/// True if every question has an answer and all rules hold. A rule for a question or a state that
/// the request lacks does not hold. With `covers_all`, every question must have a rule.
bool accepts(const config::Acceptance& acceptance, std::span<const Question> questions,
             std::span<const std::optional<AnswerFigures>> answers, bool covers_all);

/// Reads the body of a reply with status 200. kUpstream if it is no JSON object.
Result<Reply> read_task_reply(std::string body);

}  // namespace signalbox::looper
