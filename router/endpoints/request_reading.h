#pragma once
// The parts that the router reads in a request that passes as it is: the model's name, and the
// texts.

#include <optional>
#include <string>

#include "base/error.h"
#include "router/http/message.h"

namespace signalbox::endpoints {

struct RequestReading {
  std::optional<std::string> model;  // nullopt: the request names none
  size_t begin = 0, end = 0;         // the name in the body, with its quotes if that is JSON
  bool is_form = false;              // a form and not JSON
  std::string texts;                 // what a model works on, one text a line
  std::string others;                // the other strings and numbers, and names of members
  bool is_unreadable = false;        // it has more: files, images, token ids, a query
};

/// Errors: kInvalid for a body that is neither a JSON object nor a form, that names two models, or
/// that servers may read in another way.
/// The body is the same afterwards.
Result<RequestReading> read_body(http::Request& request);

/// The request's body with another name of the model.
std::string with_model(std::string_view body, const RequestReading& reading, std::string_view name);

}  // namespace signalbox::endpoints
