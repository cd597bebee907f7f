// A client may send anything as an id or as a message, so that nothing here relies on their form.

#include "router/looper/flow.h"

#include <algorithm>
#include <charconv>
#include <functional>

#include "base/fnv.h"
#include "router/looper/compose.h"

namespace signalbox::looper {
namespace {

constexpr std::string_view kBetween = "__";
// Some servers refuse longer ids, and a later request of the conversation may reach one of them.
constexpr size_t kToolIdBytesMax = 40;
constexpr std::string_view kEnds[] = {"replied", "failed", "dropped", "waiting"};

/// An id of a tool call as the client has it.
struct ToolId {
  std::string_view state;  // FLOW-STATE
  size_t turn = 0;
  std::string_view id;  // the server's
};

std::optional<ToolId> read_tool_id(std::string_view text) {
  if (!text.starts_with(kFlowPrefix)) return std::nullopt;
  text.remove_prefix(kFlowPrefix.size());
  const size_t first = text.find(kBetween);
  if (first == std::string_view::npos) return std::nullopt;
  ToolId out{.state = text.substr(0, first), .turn = 0, .id = {}};
  text.remove_prefix(first + kBetween.size());
  const size_t second = text.find(kBetween);
  if (second == std::string_view::npos) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + second, out.turn);
  if (error != std::errc() || end != text.data() + second) return std::nullopt;
  out.id = text.substr(second + kBetween.size());
  return out;
}

std::string_view string_at(const json::Value& object, std::string_view key) {
  const auto found = object.find(key);
  return found && found->is_string() ? found->text() : std::string_view();
}

bool has_role(const json::Value& message, std::string_view role) {
  return string_at(message, "role") == role;
}

std::optional<ToolId> result_id(const json::Value& message) {
  if (!has_role(message, "tool")) return std::nullopt;
  return read_tool_id(string_at(message, "tool_call_id"));
}

/// Returns nullopt if the call is not of the flow.
std::optional<ToolId> id_in(const json::Value& call, std::string_view flow) {
  const auto id = read_tool_id(string_at(call, "id"));
  return id && flow_of(id->state) == flow ? id : std::nullopt;
}

/// The id of the message's first call that belongs to the flow.
std::optional<ToolId> first_call(const json::Value& message, std::string_view flow) {
  const auto calls = message.find("tool_calls");
  if (!calls || !has_role(message, "assistant")) return std::nullopt;
  for (const json::Value& call : calls->items()) {
    if (const auto id = id_in(call, flow)) return id;
  }
  return std::nullopt;
}

/// Copies an object with another value of the member, which it has.
void copy_with(const json::Value& object, std::string_view name,
               const std::function<void()>& write_value, json::Writer& out) {
  out.begin_object();
  for (const json::Member& member : object.members()) {
    out.key(member.key);
    if (member.key == name) {
      write_value();
    } else {
      out.raw(member.value.raw());
    }
  }
  out.end_object();
}

void write_with_id(const json::Value& object, std::string_view name, std::string_view id,
                   json::Writer& out) {
  const std::function<void()> write = [&] { out.string(id); };
  copy_with(object, name, write, out);
}

void write_calls_of(const json::Value& message, std::string_view flow, size_t turn,
                    json::Writer& out) {
  out.begin_array();
  for (const json::Value& call : message.find("tool_calls")->items()) {
    const auto id = id_in(call, flow);
    if (id && id->turn == turn) write_with_id(call, "id", id->id, out);
  }
  out.end_array();
}

bool calls_tools_of(const json::Value& message, std::string_view flow, size_t turn) {
  for (const json::Value& call : message.find("tool_calls")->items()) {
    const auto id = id_in(call, flow);
    if (id && id->turn == turn) return true;
  }
  return false;
}

json::Value first_choice(const json::Document& completion) {
  return *completion.root().find("choices")->items().begin();
}

/// Adds the tool calls of a turn under their new ids. A call whose id is too long for them gets a
/// number instead, in nine digits, because some servers take no other length.
void add_calls(const Turn& turn, size_t number, std::string_view state, json::Writer& out) {
  const auto completion = json::Document::parse(turn.reply()->body);
  SIGNALBOX_CHECK(completion);
  const auto calls = first_choice(*completion).find("message")->find("tool_calls");
  const std::string begin =
      fmt::format("{}{}{}{}{}", kFlowPrefix, state, kBetween, number, kBetween);
  // A model sees the numbers of all its rounds, so those of each state are different.
  Fnv hash;
  for (const char c : state) hash.add(static_cast<uint8_t>(c));
  uint64_t number_of_call = hash.get();
  for (const json::Value& call : calls->items()) {
    if (!call.is_object()) continue;
    std::string id = begin + std::string(string_at(call, "id"));
    if (id.size() > kToolIdBytesMax)
      id = fmt::format("{}{:09}", begin, number_of_call % 1'000'000'000);
    ++number_of_call;
    out.begin_object().member("id", id);
    for (const json::Member& member : call.members()) {
      if (member.key != "id") out.key(member.key).raw(member.value.raw());
    }
    out.end_object();
  }
}

void write_waiting_choice(const json::Value& choice, const std::function<void()>& write_calls,
                          json::Writer& out) {
  out.begin_object();
  for (const json::Member& member : choice.members()) {
    if (member.key == "finish_reason") continue;
    out.key(member.key);
    if (member.key == "message") {
      copy_with(member.value, "tool_calls", write_calls, out);
    } else {
      out.raw(member.value.raw());
    }
  }
  out.member("finish_reason", "tool_calls").end_object();
}

Result<PastTurn> read_turn(const json::Value& value) {
  PastTurn out;
  out.model = string_at(value, "model");
  out.label = string_at(value, "label");
  out.text = string_at(value, "text");
  const auto end = std::find(std::begin(kEnds), std::end(kEnds), string_at(value, "end"));
  if (end == std::end(kEnds)) return fail(Code::kCorrupt, "a turn has no known end");
  out.end = static_cast<PastTurn::End>(end - std::begin(kEnds));
  return out;
}

}  // namespace

size_t bytes_of(std::span<const PastTurn> past) {
  size_t out = 0;
  for (const PastTurn& turn : past) out += turn.text.size();
  return out;
}

size_t kept_bytes(std::span<const Turn> turns, const std::vector<size_t>& waiting) {
  size_t out = 0;
  for (size_t i = 0; i < turns.size(); ++i) {
    const bool waits = std::find(waiting.begin(), waiting.end(), i) != waiting.end();
    if (turns[i].reply() != nullptr && !waits) out += turns[i].reply()->body.size();
  }
  return out;
}

std::vector<PastTurn> past_turns(std::span<const Turn> turns, const std::vector<size_t>& waiting) {
  std::vector<PastTurn> out;
  for (size_t i = 0; i < turns.size(); ++i) {
    const Turn& turn = turns[i];
    PastTurn past{.model = turn.call.model, .label = turn.call.label};
    if (std::find(waiting.begin(), waiting.end(), i) != waiting.end()) {
      past.end = PastTurn::End::kWaiting;
    } else if (const Reply* reply = turn.reply()) {
      past.text = reply->body;
    } else {
      const Error& error = turn.outcome.error();
      past.end = error.code == Code::kCancelled ? PastTurn::End::kDropped : PastTurn::End::kFailed;
      past.text = error.message;
    }
    out.push_back(std::move(past));
  }
  return out;
}

Result<Turn> repeat_turn(Call call, const PastTurn& past) {
  Turn out{.call = std::move(call)};
  if (past.end == PastTurn::End::kWaiting) {
    out.call.has_results = true;
    return out;
  }
  out.state = Turn::State::kDone;
  if (past.end != PastTurn::End::kReplied) {
    const bool is_dropped = past.end == PastTurn::End::kDropped;
    out.outcome = fail(is_dropped ? Code::kCancelled : Code::kUpstream, "{}", past.text);
    return out;
  }
  out.outcome = read_reply(past.text, false);
  if (!out.outcome) return fail(Code::kCorrupt, "{}", out.outcome.error().message);
  out.outcome->prompt_tokens = out.outcome->cached_tokens = out.outcome->completion_tokens = 0;
  return out;
}

std::string write_flow(const FlowState& state) {
  json::Writer out;
  out.begin_object().member("owner", state.owner).member("recipe", state.recipe);
  out.member("decision", state.decision).member("conversation", state.conversation);
  out.member("masks", static_cast<int64_t>(state.masks)).key("turns").begin_array();
  for (const PastTurn& turn : state.turns) {
    out.begin_object().member("model", turn.model).member("label", turn.label);
    out.member("end", kEnds[static_cast<size_t>(turn.end)]).member("text", turn.text).end_object();
  }
  return out.end_array().end_object().take();
}

Result<FlowState> read_flow(std::string text) {
  const auto document = json::Document::parse(std::move(text));
  if (!document) return fail(Code::kCorrupt, "the state is not JSON");
  const json::Value root = document->root();
  const auto turns = root.find("turns");
  if (!turns || !turns->is_array()) return fail(Code::kCorrupt, "the state has no turns");
  FlowState out{.owner = std::string(string_at(root, "owner")),
                .recipe = std::string(string_at(root, "recipe")),
                .decision = std::string(string_at(root, "decision")),
                .conversation = std::string(string_at(root, "conversation")),
                .masks = 0,
                .turns = {}};
  const auto masks = root.find("masks");
  const auto count = masks ? masks->integer() : Result<int64_t>(0);
  if (!count || *count < 0) return fail(Code::kCorrupt, "the state has no number of masks");
  out.masks = static_cast<uint64_t>(*count);
  for (const json::Value& each : turns->items()) {
    SIGNALBOX_TRY(PastTurn turn, read_turn(each));
    out.turns.push_back(std::move(turn));
  }
  return out;
}

std::string find_flow(const json::Value& request) {
  const auto messages = request.find("messages");
  if (!messages) return {};
  std::string out;
  for (const json::Value& message : messages->items()) {
    if (!has_role(message, "tool")) {
      out.clear();
    } else if (const auto id = result_id(message)) {
      out = id->state;
    }
  }
  return out;
}

bool has_open_results(const json::Value& request) {
  const auto messages = request.find("messages");
  if (!messages) return false;
  bool out = false;
  for (const json::Value& message : messages->items()) {
    if (has_role(message, "assistant")) out = false;
    if (result_id(message)) out = true;
  }
  return out;
}

std::string_view flow_of(std::string_view id) {
  return id.substr(0, id.rfind('-'));
}

bool has_results(const json::Value& request, std::string_view id, const FlowState& state) {
  std::vector<size_t> found;
  for (const json::Value& message : request.find("messages")->items()) {
    const auto result = result_id(message);
    if (result && result->state == id) found.push_back(result->turn);
  }
  for (size_t i = 0; i < state.turns.size(); ++i) {
    if (state.turns[i].end != PastTurn::End::kWaiting) continue;
    if (std::find(found.begin(), found.end(), i) == found.end()) return false;
  }
  return true;
}

bool is_of_flow(const json::Value& message, std::string_view flow) {
  if (flow.empty()) return false;
  if (const auto result = result_id(message)) return flow_of(result->state) == flow;
  return first_call(message, flow).has_value();
}

void write_tool_messages(const json::Value& messages, std::string_view flow, size_t turn,
                         json::Writer& out) {
  for (const json::Value& message : messages.items()) {
    if (!is_of_flow(message, flow)) continue;
    if (const auto result = result_id(message)) {
      if (result->turn == turn) write_with_id(message, "tool_call_id", result->id, out);
      continue;
    }
    if (!calls_tools_of(message, flow, turn)) continue;
    // The text beside the calls belongs to the first turn that called.
    const bool has_text = first_call(message, flow)->turn == turn;
    out.begin_object();
    for (const json::Member& member : message.members()) {
      out.key(member.key);
      if (member.key == "tool_calls") {
        write_calls_of(message, flow, turn, out);
      } else if (has_text || member.key == "role") {
        out.raw(member.value.raw());
      } else {
        out.null();
      }
    }
    out.end_object();
  }
}

std::string compose_waiting(std::span<const Turn> turns, const std::vector<size_t>& waiting,
                            std::string_view id, std::optional<Extension> extension) {
  const auto first = json::Document::parse(turns[waiting.front()].reply()->body);
  SIGNALBOX_CHECK(first);
  json::Writer out;
  const std::function<void()> write_calls = [&] {
    out.begin_array();
    for (const size_t i : waiting) add_calls(turns[i], i, id, out);
    out.end_array();
  };
  const std::function<void()> write_choices = [&] {
    out.begin_array();
    write_waiting_choice(first_choice(*first), write_calls, out);
    out.end_array();
  };
  copy_with(first->root(), "choices", write_choices, out);
  const std::string composed = out.take();
  return extension ? extended(composed, std::move(extension)) : composed;
}

}  // namespace signalbox::looper
