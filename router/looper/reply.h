#pragma once
// A model's reply as the algorithms see it: a chat completion from a server, read with limits.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"

namespace signalbox::looper {

/// How sure a model was of its tokens, from the log probabilities of a reply.
struct Certainty {
  double logprob = 0;            // mean over the tokens that count
  std::optional<double> margin;  // mean distance to the second-best token; nullopt if any token
                                 // came without alternatives
};

struct Reply {
  std::string body;       // the completion
  std::string text;       // of its first choice
  std::string reasoning;  // of its first choice
  bool calls_tools = false;
  std::optional<Certainty> certainty;       // nullopt: no log probabilities came
  std::optional<Certainty> word_certainty;  // the same of tokens with a letter or digit
  uint64_t prompt_tokens = 0, cached_tokens = 0, completion_tokens = 0;
  double cost = 0;  // at the model's prices

  /// True if the reply has neither text nor reasoning nor calls of tools.
  bool is_empty() const;
};

/// Reads the body of a reply with status 200. With `drops_logprobs` the log probabilities, which
/// the client did not request, are removed from `body`. kUpstream if it is not a chat completion.
Result<Reply> read_reply(std::string body, bool drops_logprobs);

}  // namespace signalbox::looper
