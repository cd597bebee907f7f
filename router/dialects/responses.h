#pragma once
// POST /v1/responses in front of chat completions, with the state that goes with it.

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "router/dialects/dialect.h"
#include "router/dialects/response_store.h"

namespace signalbox::dialects {

/// A request of the Responses API, read.
struct ResponsesAsked {
  std::string chat;      // the body of the chat completion request
  std::string messages;  // of it, without instructions: what a next response goes on from
  std::string input;     // the input items as they can be listed
  bool store = true;
  /// Members of the response that repeat the request, JSON.
  std::vector<std::pair<std::string, std::string>> repeated;
};

/// `earlier` gives the conversation up to a response by its id, or nothing. Errors: kInvalid with
/// the path of what is wrong or cannot be said in a chat completion, as tools that run at the
/// provider.
using Earlier = std::function<std::optional<std::string>(std::string_view id)>;
Result<ResponsesAsked> read_responses(std::string body, std::string_view token,
                                      const Earlier& earlier);

/// Chat completions as responses. `store` gets what the client asked to keep, or is null.
std::unique_ptr<ReplyTranslator> responses_replies(ResponsesAsked asked, const Asking& asking,
                                                   ResponseStore* store);

class ResponsesDialect final : public Dialect {
 public:
  /// The store outlives it.
  explicit ResponsesDialect(ResponseStore& store) : store_(store) {}

  Result<Incoming> read(std::string body, const Asking& asking) const override;
  std::string refusal(int status, std::string_view body) const override;

 private:
  ResponseStore& store_;
};

/// Input items of a stored response as the API lists them: {"object":"list","data":[...]}. kInvalid
/// for a query that is none.
Result<std::string> list_input_items(const StoredResponse& stored, std::string_view query);

}  // namespace signalbox::dialects
