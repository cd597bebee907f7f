// Signals of type conversation: counts of messages, tools, tool calls and images; of type session:
// facts about the conversation; and of type random: a digit by chance. As in the Semantic Router, a
// count without bounds matches every request, and a fact without bounds none.

#include <algorithm>
#include <random>

#include "base/ascii.h"
#include "router/looper/flow.h"
#include "router/routing/decision/fact.h"
#include "router/signals/types.h"

namespace signalbox::signals {
namespace {

using ConversationSource = config::ConversationSignal::Source;

bool is_tool_result(const request::ChatMessage& message) {
  return message.role == "tool" || message.role == "function";
}

template <class Count>
uint32_t sum(const request::ChatRequest& request, const Count& count) {
  uint32_t total = 0;
  for (const request::ChatMessage& message : request.messages) total += count(message);
  return total;
}

uint32_t count_calls(const request::ChatRequest& request) {
  return sum(request, [](const request::ChatMessage& m) { return m.tool_calls; });
}

uint32_t count_results(const request::ChatRequest& request) {
  return sum(request, [](const request::ChatMessage& m) { return is_tool_result(m) ? 1u : 0u; });
}

// A tool loop is active if the last message is a tool's result, if the user's last turn directly
// follows one, or if calls still wait for their results.
uint32_t in_tool_loop(const request::ChatRequest& request) {
  const auto& messages = request.messages;
  if (messages.empty()) return 0;
  if (is_tool_result(messages.back())) return 1;
  for (size_t i = messages.size(); i-- > 0;) {
    if (messages[i].role != "user") continue;
    if (i > 0 && is_tool_result(messages[i - 1])) return 1;
    break;
  }
  return count_calls(request) > count_results(request) ? 1 : 0;
}

uint32_t count_messages(const request::ChatRequest& request, std::string_view role) {
  const bool all = role.empty() || role == "any" || role == "all";
  return sum(request, [&](const request::ChatMessage& m) {
    return all || (role == "non_user" ? m.role != "user" : m.role == role) ? 1u : 0u;
  });
}

uint32_t count(const request::ChatRequest& request, const ConversationSource& source) {
  using Type = ConversationSource::Type;
  switch (source.type) {
    case Type::kMessage:
      return count_messages(request, source.role);
    case Type::kToolDefinition:
      return request.tools;
    case Type::kToolChoiceRequired:
      return request.tool_choice == request::ToolChoice::kRequired ? 1 : 0;
    case Type::kToolChoiceNone:
      return request.tool_choice == request::ToolChoice::kNone ? 1 : 0;
    case Type::kToolCall:
      return count_calls(request);
    case Type::kToolResult:
      return count_results(request);
    case Type::kToolLoop:
      return in_tool_loop(request);
    case Type::kFlowState:
      return looper::find_flow(request.document.root()).empty() ? 0 : 1;
    case Type::kImage:
      return sum(request, [](const request::ChatMessage& m) { return m.images; });
  }
  return 0;
}

class ConversationSignals : public NamedSignals<config::ConversationSignal> {
 public:
  using NamedSignals::NamedSignals;

  std::string_view type() const override { return "conversation"; }
  Needs needs() const override { return Needs::kRequest; }
  Wording wording() const override { return {"count", ""}; }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>&) const override {
    for (size_t i = 0; i < signals_.size(); ++i) {
      const config::ConversationSignal& signal = signals_[i];
      const double found = count(inputs.request(), signal.feature.source);
      const bool exists = signal.feature.type == config::ConversationSignal::Feature::Type::kExists;
      out[i].score = exists ? std::min(found, 1.0) : found;
      out[i].matched =
          exists ? found > 0 : !signal.predicate || decision::holds(*signal.predicate, found);
      out[i].confidence = out[i].matched ? 1 : 0;
    }
    return {};
  }
};

using SessionFact = config::SessionSignal::Fact;

uint32_t count_role(const request::ChatRequest& request, std::string_view role) {
  return static_cast<uint32_t>(
      std::ranges::count(request.messages, role, &request::ChatMessage::role));
}

class SessionSignals : public NamedSignals<config::SessionSignal> {
 public:
  SessionSignals(const std::vector<config::SessionSignal>& signals,
                 const config::Learning::Headers& headers)
      : NamedSignals(signals), headers_(headers) {}

  std::string_view type() const override { return "session"; }
  Needs needs() const override { return Needs::kRequest; }
  Wording wording() const override { return {"value", ""}; }
  std::string_view unavailable(size_t signal) const override { return signals_[signal].unbuilt; }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>&) const override {
    for (size_t i = 0; i < signals_.size(); ++i) {
      const auto& predicate = signals_[i].predicate;
      out[i].score = value(signals_[i], inputs);
      out[i].matched = predicate && decision::holds(*predicate, out[i].score);
      out[i].confidence = out[i].matched ? 1 : 0;
    }
    return {};
  }

 private:
  double value(const config::SessionSignal& signal, const Inputs& inputs) const {
    switch (signal.fact) {
      case SessionFact::kPresent:
        return is_named(inputs, headers_.session) || is_named(inputs, headers_.conversation) ||
                       count_role(inputs.request(), "assistant") > 0
                   ? 1
                   : 0;
      case SessionFact::kTurn: {
        const uint32_t turns = count_role(inputs.request(), "user");
        return turns == 0 ? 0 : turns - 1;
      }
      case SessionFact::kPreviousModel: {
        const std::string_view model = inputs.previous_model();
        if (signal.previous_model.empty()) return model.empty() ? 0 : 1;
        return ascii::iequals(model, signal.previous_model) ? 1 : 0;
      }
      case SessionFact::kOther:
        break;
    }
    return 0;
  }

  static bool is_named(const Inputs& inputs, std::string_view header) {
    return !inputs.header(header).value_or("").empty();
  }

  const config::Learning::Headers& headers_;
};

class RandomSignals : public NamedSignals<config::ClassSignal> {
 public:
  using NamedSignals::NamedSignals;

  std::string_view type() const override { return "random"; }
  Needs needs() const override { return Needs::kRequest; }
  Wording wording() const override { return {"digit", ""}; }

  Result<void> evaluate(Inputs&, std::span<Reading> out, std::vector<Evidence>&) const override {
    thread_local std::minstd_rand random{std::random_device{}()};
    std::uniform_int_distribution<int> digit(0, 9);
    for (Reading& reading : out)
      reading = {.matched = true, .confidence = 1, .score = static_cast<double>(digit(random))};
    return {};
  }
};

}  // namespace

SignalTypeResult conversation_signals(const std::vector<config::ConversationSignal>& signals) {
  return std::make_unique<ConversationSignals>(signals);
}

SignalTypeResult session_signals(const std::vector<config::SessionSignal>& signals,
                                 const config::Learning::Headers& headers) {
  return std::make_unique<SessionSignals>(signals, headers);
}

SignalTypeResult random_signals(const std::vector<config::ClassSignal>& signals) {
  return std::make_unique<RandomSignals>(signals);
}

}  // namespace signalbox::signals
