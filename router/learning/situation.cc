// Without a header, a conversation is known by its first message of the user and, once there is
// one, by the first answer: a history that clients send again in every turn. The system prompt is
// left out, because agents write the time and the like into it.

#include "router/learning/situation.h"

#include <algorithm>

#include "base/sha256.h"
#include "router/learning/rules.h"

namespace signalbox::learning {
namespace {

using request::ChatMessage;
using Messages = std::vector<ChatMessage>;

bool is_assistant(const ChatMessage& message) {
  return message.role == "assistant";
}

bool is_result(const ChatMessage& message) {
  return message.role == "tool" || message.role == "function";
}

// The lengths separate the parts, so that no two lists have the same digest.
std::string digest(std::initializer_list<std::string_view> parts) {
  std::string all;
  for (const std::string_view part : parts)
    all.append(std::to_string(part.size())).append(":").append(part);
  return sha256_hex(all);
}

Messages::const_iterator last_answer(const Messages& messages) {
  return std::find_if(messages.rbegin(), messages.rend(), is_assistant).base();
}

void look_up(Memory& memory, Situation& out) {
  out.past = memory.conversations.find(out.key, out.now);
}

// The first turn begins a conversation, whatever has begun in the same way before. In the second
// turn the first answer is there, but the conversation is still kept without it.
void find_by_messages(Memory& memory, std::string_view owner, std::string_view session,
                      const Messages& messages, Situation& out) {
  const auto first = std::find_if(messages.begin(), messages.end(),
                                  [](const auto& message) { return message.role == "user"; });
  if (first == messages.end()) return;
  out.source = Source::kFirstMessages;
  const std::string begun = digest({"first", owner, session, first->text, first->aside});
  const auto answer = std::find_if(first, messages.end(), is_assistant);
  if (answer == messages.end()) {
    out.key = begun;
    return;
  }
  out.key = digest({"answered", begun, answer->text, answer->aside});
  look_up(memory, out);
  if (!out.past) out.past = memory.conversations.find(begun, out.now);
}

}  // namespace

std::string_view name_of(Source source) {
  switch (source) {
    case Source::kNone:
      return "none";
    case Source::kConversationHeader:
      return "conversation_header";
    case Source::kSessionHeader:
      return "session_header";
    case Source::kFirstMessages:
      return "first_messages";
  }
  return "";
}

std::chrono::seconds Situation::idle() const {
  if (!past) return std::chrono::seconds(0);
  return std::chrono::duration_cast<std::chrono::seconds>(now - past->used);
}

Situation situation_of(Memory& memory, const config::Learning& learning, std::string_view owner,
                       const HeaderLookup& header, const request::ChatRequest& request,
                       TimePoint now) {
  Situation out;
  out.now = now;
  out.outcomes = &memory.outcomes;
  const Messages& messages = request.messages;
  const auto after = last_answer(messages);
  out.in_tool_loop = after != messages.begin() && std::any_of(after, messages.end(), is_result);
  for (auto message = messages.begin(); message != after; ++message)
    out.earlier_bytes += message->text.size() + message->aside.size();
  if (reads_features(learning)) out.features = features_of(request, out.earlier_bytes);

  const config::Learning::Headers& headers = learning.protection.identity.headers;
  const std::string_view session = header(headers.session).value_or("");
  if (learning.protection.scope == "session") {
    if (session.empty()) return out;
    out.source = Source::kSessionHeader;
    out.key = digest({"session", owner, session});
    look_up(memory, out);
    return out;
  }
  const std::string_view conversation = header(headers.conversation).value_or("");
  if (conversation.empty()) {
    find_by_messages(memory, owner, session, messages, out);
    return out;
  }
  out.source = Source::kConversationHeader;
  out.key = digest({"conversation", owner, session, conversation});
  look_up(memory, out);
  return out;
}

Conversation continued(const Situation& situation, Answerer answerer) {
  Conversation out = situation.past.value_or(Conversation{});
  const bool same_model =
      out.last.model == answerer.model && out.last.upstream_name == answerer.upstream_name;
  if (!same_model && situation.past) ++out.switches;
  if (!same_model || out.last.decision != answerer.decision) out.turns = 0;
  if (!situation.in_tool_loop || out.turns == 0) ++out.turns;
  out.last = std::move(answerer);
  out.used = situation.now;
  return out;
}

void remember(Memory& memory, const Situation& situation, Answerer answerer) {
  if (situation.key.empty()) return;
  memory.conversations.put(situation.key, continued(situation, std::move(answerer)));
}

}  // namespace signalbox::learning
