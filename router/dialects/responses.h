#pragma once
// Implements POST /v1/responses on top of chat completions, including its stored state.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "router/dialects/dialect.h"
#include "router/dialects/response_store.h"
#include "router/dialects/sparse_text.h"

namespace signalbox::dialects {

inline constexpr std::string_view kResponsesPath = "/v1/responses";

/// The length of RequestContext::token, which the ids of stored items contain.
inline constexpr size_t kTokenBytes = 32;

/// A tool that a chat completion knows as a function under another name or in another form.
struct ResponsesTool {
  std::string name;
  std::string space = {};  // name of its namespace; "": none
  bool custom = false;     // its input is a text, not JSON
};
/// By the name of the function.
using ResponsesTools = std::map<std::string, ResponsesTool, std::less<>>;

/// A parsed request of the Responses API.
struct ParsedResponses {
  std::string chat;      // the body of the chat completion request
  std::string messages;  // its messages without instructions, which the next response continues
  SparseText input;      // the input items as the API lists them; the base are `messages`
  bool store = true;
  bool summarises = false;  // the client wants thoughts as a summary
  ResponsesTools tools = {};
  Losses losses = {};
  /// Members of the response that repeat the request, as JSON.
  std::vector<std::pair<std::string, std::string>> repeated;
};

/// Stored state that a request refers to. Both return nullopt if there is none. Errors: kUpstream
/// if only a shared store can have it and does not respond.
struct Earlier {
  using Found = Result<std::optional<std::string>>;
  /// The conversation up to the response with that id, as elements of an array of messages.
  std::function<Found(std::string_view id)> conversation;
  /// An item of an earlier request or response, as JSON.
  std::function<Found(std::string_view id)> item;
};

/// Reads a request of the Responses API as a chat completion request. `custom` tools become
/// functions with one text, tools of a `namespace` become functions with both names. Members
/// without an equivalent, such as tools that run at the provider, are losses. All system messages
/// become one at the front. Errors: kInvalid for a malformed member, with its path; kTooLarge.
Result<ParsedResponses> read_responses(const json::Value& root, std::string_view token,
                                       const Earlier& earlier);

/// Translates chat completions to responses. `store` receives responses that the client wants
/// stored; it may be nullptr.
std::unique_ptr<ReplyTranslator> responses_replies(ParsedResponses request,
                                                   const RequestContext& context,
                                                   ResponseStore* store);

class ResponsesDialect final : public Dialect {
 public:
  /// The store must outlive it.
  explicit ResponsesDialect(ResponseStore& store) : store_(store) {}

  Result<Incoming> read(std::string&& body, const RequestContext& context) const override;
  bool reads_slowly() const override { return store_.is_shared(); }
  std::string refusal(int status, std::string_view body) const override;

 private:
  ResponseStore& store_;
};

/// Returns the items with these ids from a stored response and its input, as JSON by id.
std::map<std::string, std::string, std::less<>> find_items(const StoredResponse& stored,
                                                           const std::set<std::string_view>& ids);
/// The id of the response that belongs to an item of ours; "" for any other id.
std::string response_of_item(std::string_view item);

/// The input items of a stored response as the API lists them: {"object":"list","data":[...]}.
/// kInvalid for an invalid query.
Result<std::string> list_input_items(const StoredResponse& stored, std::string_view query);

}  // namespace signalbox::dialects
