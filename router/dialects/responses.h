#pragma once
// Implements POST /v1/responses on top of chat completions, including its stored state.

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "router/dialects/dialect.h"
#include "router/dialects/response_store.h"

namespace signalbox::dialects {

/// A parsed request of the Responses API.
struct ParsedResponses {
  std::string chat;      // the body of the chat completion request
  std::string messages;  // its messages without instructions, which the next response continues
  std::string input;     // the input items as the API lists them
  bool store = true;
  /// Members of the response that repeat the request, as JSON.
  std::vector<std::pair<std::string, std::string>> repeated;
};

/// `earlier` returns the conversation up to the response with that id, or nullopt. Errors: kInvalid
/// with the path of a member that is wrong or has no equivalent in a chat completion, such as a
/// tool that runs at the provider.
using Earlier = std::function<std::optional<std::string>(std::string_view id)>;
Result<ParsedResponses> read_responses(std::string body, std::string_view token,
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

  Result<Incoming> read(std::string body, const RequestContext& context) const override;
  std::string refusal(int status, std::string_view body) const override;

 private:
  ResponseStore& store_;
};

/// The input items of a stored response as the API lists them: {"object":"list","data":[...]}.
/// kInvalid for an invalid query.
Result<std::string> list_input_items(const StoredResponse& stored, std::string_view query);

}  // namespace signalbox::dialects
