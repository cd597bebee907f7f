#pragma once
// Algorithms that call several models for one request. Each is a pure function: from the calls so
// far and their replies to the calls that come next, or to the answer. It knows no socket and no
// clock, so its tests are stories in data; run.h keeps the budget, and the gateway makes the calls.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/config/routing.h"
#include "router/looper/reply.h"
#include "router/looper/voice.h"

namespace signalbox::looper {

/// The purpose of a call, which traces and metrics name.
enum class Purpose : uint8_t { kAnswer, kVerify, kAnalyse, kSynthesise, kPlan, kChoose, kDraw };
/// "answer", "verify", "analyse", "synthesise", "plan", "choose", "draw".
std::string_view name_of(Purpose purpose);

/// A call that an algorithm wants. The gateway makes it with the request as the decision's plugins
/// have edited it for that model; these members change it further.
struct Call {
  std::string model;
  Purpose purpose = Purpose::kAnswer;
  /// A user message in place of the conversation; nullopt: the conversation as it is.
  std::optional<std::string> prompt = {};
  bool keeps_system = true;  // with a prompt: the system messages stay in front of it
  bool offers_tools = true;
  bool needs_logprobs = false;
  bool is_stored = true;  // as the request has it; false: the server must not keep the answer
  std::optional<double> temperature = {};
  uint32_t max_tokens = 0;  // of the reply; 0: as the request has it
  /// The reply to this call is the answer in any case, so it may be streamed to the client.
  bool is_last = false;
  /// The call goes on after its tools, whose results the request has (flow.h).
  bool has_results = false;
  std::string label = {};  // the step of a plan, for later steps and for the trace; "": none
  /// The whole request but for its model and max_tokens; "": it is made of the decision's.
  std::string body = {};
};

/// A call and what became of it.
struct Turn {
  enum class State : uint8_t { kQueued, kOpen, kDone };
  Call call;
  State state = State::kQueued;
  Result<Reply> outcome = tl::unexpected<Error>(Error{Code::kCancelled, "it was not made"});
  bool elsewhere = true;  // if it failed, another model may succeed

  bool is_done() const { return state == State::kDone; }
  const Reply* reply() const { return is_done() && outcome ? &*outcome : nullptr; }
};

/// The end of a run: the reply of a turn, or a completion that was composed of several.
struct RunAnswer {
  size_t turn = 0;                   // whose model is named
  std::string body = {};             // "": the reply of that turn
  std::vector<size_t> waiting = {};  // turns whose tools the client calls before the run goes on
  std::string label = {};            // the step that accepted it; "": none
};

/// The next step of an algorithm: calls, or the answer; with neither, it waits for open calls.
struct Step {
  std::vector<Call> calls = {};
  bool joins = false;  // the calls that are open go on; otherwise they are given up
  /// The calls of this step end after this time; 0: no limit.
  std::chrono::milliseconds limit{0};
  std::optional<Result<RunAnswer>> answer = {};
};

/// The request as the algorithms quote it. Personal data may be masked.
struct Conversation {
  std::string question;    // the last text of the user
  std::string transcript;  // the whole conversation without its system messages; `question` alone
                           // if there is nothing else
  /// The request offers tools. If a model calls them, the run may end with these calls as its
  /// answer and go on in a later request.
  bool may_wait = false;
  std::string task = {};  // a request of System One as its client wrote it; "": a chat
};
/// Reads the body of a chat completion request, without the messages of `flow` ("": none).
Conversation read_conversation(const json::Value& request, std::string_view flow = {});

/// A member of the answer that shows the replies behind it.
struct Extension {
  std::string name;
  std::string json;
};

/// Immutable; belongs to one request.
class Algorithm {
 public:
  virtual ~Algorithm() = default;
  /// `turns` are all calls so far, in the order of the steps that wanted them. With `may_call`
  /// false the budget is used up: the result must be an answer.
  virtual Step next(std::span<const Turn> turns, bool may_call) const = 0;
  /// Returns a member of the reply that describes the calls; nullopt if the decision wants none.
  /// All calls in `turns` are done.
  virtual std::optional<Extension> extension(std::span<const Turn> /*turns*/) const {
    return std::nullopt;
  }
  /// Greatest number of calls at a time; 0: no limit of its own.
  virtual uint32_t concurrent_max() const { return 0; }
};

/// The algorithm of the decision for one request. `voices` are the decision's models that may see
/// the request, in its order, at least one; `cards` describe models. Precondition:
/// config::calls_several() for the decision.
std::unique_ptr<const Algorithm> make_algorithm(const config::Decision& decision,
                                                std::vector<Voice> voices,
                                                Conversation conversation,
                                                std::span<const config::ModelCard> cards = {});

/// True if the answer is always the reply to one call that gets the request as it is and needs no
/// log probabilities, so that the request may go out in the client's own API.
bool passes_request(const config::Algorithm& algorithm);

/// For a decision whose answer is a text with an image: the first voice answers with a text, and an
/// image server draws for the last one at the same time. If a text fails, the next voice writes
/// one, unless none could; the image has one server only. The answer is the turn of the text, or
/// that of the image if there is no text. Precondition: there are two voices at least.
std::unique_ptr<const Algorithm> text_and_image(std::span<const Voice> voices);

/// Describes for people what the algorithm does: "small, then large, until the confidence is 0.7".
std::string describe(const config::Decision& decision, std::span<const Voice> voices);

/// Checks the settings that a table of keys cannot: kInvalid with the name of the key.
Result<void> check(const config::Decision& decision);

}  // namespace signalbox::looper
