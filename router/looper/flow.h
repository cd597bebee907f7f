#pragma once
// Workflows that wait for the results of tools. The state of such a flow is the outcomes of its
// calls so far: an algorithm is a pure function, so that with them it comes to the same point
// again. The ids of the tool calls that the client gets contain the id of the state, in the form
// of the Semantic Router: flowtool_FLOW-STATE__TURN__ID. ID is the server's, or a number if that
// is long. A state never changes, so that a client may repeat its request.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "router/looper/looper.h"

namespace signalbox::looper {

/// The beginning of the ids of a flow's tool calls.
inline constexpr std::string_view kFlowPrefix = "flowtool_";

/// The outcome of a call in an earlier request.
struct PastTurn {
  enum class End : uint8_t { kReplied, kFailed, kDropped, kWaiting };
  std::string model, label;
  End end = End::kReplied;
  std::string text = {};  // the completion, or the reason of the failure
};

struct FlowState {
  std::string owner = {}, recipe = {}, decision = {};  // of the request
  /// The digest of the user's messages and of the first `masks` masks.
  std::string conversation = {};
  uint64_t masks = 0;
  std::vector<PastTurn> turns = {};
};

/// The turns of a run whose answer waits for tools. Those in `waiting` called tools.
std::vector<PastTurn> past_turns(std::span<const Turn> turns, const std::vector<size_t>& waiting);
/// The bytes of the replies that it keeps. Those that wait for tools are made again.
size_t kept_bytes(std::span<const Turn> turns, const std::vector<size_t>& waiting);
size_t bytes_of(std::span<const PastTurn> past);
/// A turn with the outcome of `past`, which has cost nothing in this request. Errors: kCorrupt.
Result<Turn> repeat_turn(Call call, const PastTurn& past);

std::string write_flow(const FlowState& state);
/// Errors: kCorrupt.
Result<FlowState> read_flow(std::string text);

/// Returns "FLOW-STATE" if the last messages of the request are results of a flow's tools;
/// otherwise "".
std::string find_flow(const json::Value& request);
/// Returns true if the last results of a flow's tools have no assistant's message behind them.
bool has_open_results(const json::Value& request);
/// "FLOW" of "FLOW-STATE".
std::string_view flow_of(std::string_view id);
/// Returns true if each waiting turn of the state has a result in the request.
bool has_results(const json::Value& request, std::string_view id, const FlowState& state);

/// A call in a request that goes on with a flow.
struct FlowTurn {
  std::string_view flow = "";       // "": the request goes on with none
  std::optional<size_t> turn = {};  // it called tools, whose results the request has
};

/// Returns true if the message has calls of the flow's tools, or a result of one.
bool is_of_flow(const json::Value& message, std::string_view flow);
/// Writes the messages of that turn alone, with the ids for its server.
void write_tool_messages(const json::Value& messages, std::string_view flow, size_t turn,
                         json::Writer& out);

/// One completion with the tool calls of all waiting turns, under ids of the state `id`, and with
/// the member at its end.
std::string compose_waiting(std::span<const Turn> turns, const std::vector<size_t>& waiting,
                            std::string_view id, std::optional<Extension> extension);

}  // namespace signalbox::looper
