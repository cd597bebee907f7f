// Signals of type conversation: counts of messages, tools, tool calls and images.

#include <algorithm>
#include <array>

#include "router/routing/decision/fact.h"
#include "router/signals/types.h"

namespace signalbox::signals {
namespace {

using ConversationSource = config::ConversationSignal::Source;

// A tool loop is active if the last message is a tool's result, or a call that waits for one.
uint32_t in_tool_loop(const request::ChatRequest& request) {
  if (request.messages.empty()) return 0;
  const request::ChatMessage& last = request.messages.back();
  return last.role == "tool" || last.role == "function" || last.tool_calls > 0 ? 1 : 0;
}

bool has_role(const request::ChatMessage& message, std::string_view role) {
  if (role.empty() || role == "any" || role == "all") return true;
  return role == "non_user" ? message.role != "user" : message.role == role;
}

struct Kind {
  std::string_view name;
  uint32_t (*count)(const request::ChatRequest& request, const ConversationSource& source);
};

template <class Count>
uint32_t sum(const request::ChatRequest& request, const Count& count) {
  uint32_t total = 0;
  for (const request::ChatMessage& message : request.messages) total += count(message);
  return total;
}

constexpr auto kKinds = std::to_array<Kind>({
    {"message",
     [](const request::ChatRequest& request, const ConversationSource& source) {
       return sum(request, [&](const request::ChatMessage& m) {
         return has_role(m, source.role) ? 1u : 0u;
       });
     }},
    {"tool_definition",
     [](const request::ChatRequest& request, const ConversationSource&) { return request.tools; }},
    {"active_tool_loop", [](const request::ChatRequest& request,
                            const ConversationSource&) { return in_tool_loop(request); }},
    {"image_content",
     [](const request::ChatRequest& request, const ConversationSource&) {
       return sum(request, [](const request::ChatMessage& m) { return m.images; });
     }},
    {"assistant_tool_call",
     [](const request::ChatRequest& request, const ConversationSource&) {
       return sum(request, [](const request::ChatMessage& m) { return m.tool_calls; });
     }},
    {"tool_result",
     [](const request::ChatRequest& request, const ConversationSource&) {
       return sum(request,
                  [](const request::ChatMessage& m) { return m.role == "tool" ? 1u : 0u; });
     }},
});

const Kind* find_kind(std::string_view name) {
  const auto found = std::find_if(kKinds.begin(), kKinds.end(),
                                  [&](const Kind& kind) { return kind.name == name; });
  return found == kKinds.end() ? nullptr : &*found;
}

class ConversationSignals : public NamedSignals<config::ConversationSignal> {
 public:
  using NamedSignals::NamedSignals;

  Result<void> check() const {
    std::string known;
    for (const Kind& kind : kKinds) known.append(known.empty() ? "" : ", ").append(kind.name);
    for (const config::ConversationSignal& signal : signals_) {
      if (find_kind(signal.feature.source.type) != nullptr) continue;
      return fail(Code::kInvalid,
                  "conversation signal \"{}\": feature.source.type: unknown \"{}\" (known: {})",
                  signal.name, signal.feature.source.type, known);
    }
    return {};
  }

  std::string_view type() const override { return "conversation"; }
  Needs needs() const override { return Needs::kRequest; }
  Wording wording() const override { return {"count", ""}; }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>&) const override {
    for (size_t i = 0; i < signals_.size(); ++i) {
      const config::ConversationSignal& signal = signals_[i];
      const ConversationSource& source = signal.feature.source;
      const double count = find_kind(source.type)->count(inputs.request(), source);
      const bool exists = signal.feature.type == config::ConversationSignal::Feature::Type::kExists;
      out[i].score = exists ? std::min(count, 1.0) : count;
      out[i].matched =
          signal.predicate ? decision::holds(*signal.predicate, out[i].score) : out[i].score > 0;
      out[i].confidence = out[i].matched ? 1 : 0;
    }
    return {};
  }
};

}  // namespace

SignalTypeResult conversation_signals(const std::vector<config::ConversationSignal>& signals) {
  auto made = std::make_unique<ConversationSignals>(signals);
  SIGNALBOX_TRY_VOID(made->check());
  return made;
}

}  // namespace signalbox::signals
