#pragma once
// The conversation that a request continues, and whether it brings results of tools.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "router/config/config.h"
#include "router/learning/conversations.h"
#include "router/learning/outcomes.h"
#include "router/request/chat_request.h"

namespace signalbox::learning {

/// The state that the process has learnt.
struct Memory {
  Conversations conversations;
  Outcomes outcomes;
};

/// The identity of the conversation.
enum class Source : uint8_t { kNone, kConversationHeader, kSessionHeader, kFirstMessages };
/// "none", "conversation_header", "session_header", "first_messages".
std::string_view name_of(Source source);

struct Situation {
  Source source = Source::kNone;
  std::string key;                   // a digest; "": the request has no identity
  std::optional<Conversation> past;  // nullopt: nothing is known, or the conversation begins
  bool in_tool_loop = false;
  size_t earlier_bytes = 0;               // text of the conversation before this turn
  std::optional<Features> features = {};  // of the request, without signals; nullopt: not needed
  TimePoint now = {};
  const Outcomes* outcomes = nullptr;

  std::chrono::seconds idle() const;
};

using config::HeaderLookup;

/// `owner` separates clients, whose identifiers may be equal. `memory` must outlive the result.
Situation situation_of(Memory& memory, const config::Learning& learning, std::string_view owner,
                       const HeaderLookup& header, const request::ChatRequest& request,
                       TimePoint now);

/// The conversation once `answerer` has answered. Results of tools are not a new turn.
Conversation continued(const Situation& situation, Answerer answerer);
/// Records the answerer of the request, if the request has an identity.
void remember(Memory& memory, const Situation& situation, Answerer answerer);

}  // namespace signalbox::learning
