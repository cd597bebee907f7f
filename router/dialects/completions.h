#pragma once
// POST /v1/completions: a prompt is decided on as what a user says, and goes to the server as it
// came.

#include "router/dialects/dialect.h"

namespace signalbox::dialects {

/// The client's bytes with `prompt` exchanged for `messages`, one a text; outgoing() puts the
/// prompt, with what edits have made of it, back in its place. Prompts of token numbers are
/// refused: nobody could look at what they say.
class CompletionsDialect final : public Dialect {
 public:
  Result<Incoming> read(std::string body, const Asking& asking) const override;
  Result<std::string> outgoing(std::string chat) const override;
  std::string_view target() const override { return "/v1/completions"; }
  bool passes_replies() const override { return true; }
  std::string refusal(int status, std::string_view body) const override;
};

}  // namespace signalbox::dialects
