#pragma once
// The plugin context_compression: leaves out what the model does not need of the results of tools
// in earlier turns.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "router/config/plugins.h"
#include "router/request/chat_request.h"
#include "router/splice/edit.h"

namespace signalbox::plugins {

enum class ContextOutcome : uint8_t {
  kUnused,      // the plugin does not apply to the request
  kWhole,       // nothing was left out, because nothing had to be
  kShortened,   // text was left out
  kOverTarget,  // the request is longer than its target, with or without text that was left out
  kNotRun,      // there was no time for it, and nothing was left out
};
/// "whole", "shortened", "over_target", "not_run"; "" for kUnused.
std::string_view name_of(ContextOutcome outcome);

/// The effect of the plugin on a request, without its content. Tokens are estimated: four bytes are
/// one.
struct ContextReport {
  ContextOutcome outcome = ContextOutcome::kUnused;
  uint32_t results = 0;  // that were shortened
  uint64_t tokens_before = 0, tokens_after = 0;
  uint64_t target = 0;  // the tokens that the request should have at most; 0: there is no bound

  uint64_t saved() const { return tokens_before - tokens_after; }
};

struct CompressedContext {
  ContextReport report;
  std::vector<splice::Edit> edits;
};

/// The room for a request.
struct ContextRoom {
  uint64_t window_tokens = 0;  // of the model; 0: not known
  uint64_t reply_tokens = 0;   // the client's limit; 0: none
};

/// Shortens results in one form of the request: `document` is in `api`, or a chat completion for
/// nullopt. `control` is the value of the client's header. The edits are for document.source().
CompressedContext compress_context(const config::ContextCompressionPlugin& plugin,
                                   const ContextRoom& room, std::string_view control,
                                   const json::Document& document, std::optional<request::Api> api,
                                   std::string_view question);

/// The name of the header with which clients control the plugin.
std::string_view control_header(const config::ContextCompressionPlugin& plugin);

}  // namespace signalbox::plugins
