#pragma once
// The requests that a model cannot serve, by its card. A card that does not describe an ability
// leaves it open, so that a file without cards excludes nothing.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "router/config/routing.h"
#include "router/routing/selection/selection.h"

namespace signalbox::selection {

/// The demands of a request.
struct Demands {
  uint64_t prompt_bytes = 0;  // of its texts and tool definitions
  uint64_t reply_tokens = 0;  // the greatest length of the reply; 0: not given
  bool images = false;
  bool tools = false;      // it offers tools, and the model may call them
  bool reasoning = false;  // the client requests reasoning
};

/// Why a model cannot serve a request.
struct Inability {
  std::string why;         // "": it can, or its card leaves that open
  bool is_certain = true;  // false: its server may serve the request nevertheless
  bool by_length = false;  // its context window is too small
};

/// Returns the first of these that holds:
///   - prompt and reply do not fit into context_window_size. The prompt counts at four bytes a
///     token, and it is certainly too long if it is so at eight;
///   - the request has images, the card's modality is "text", and it lists no ability to see;
///   - the request offers tools, a card of the routing lists tools among its capabilities, and this
///     card lists others;
///   - the same for reasoning, which is never certain, because servers answer without it.
/// `cards` are those of the routing.
Inability find_inability(const Candidate& candidate, const Demands& demands,
                         std::span<const config::ModelCard> cards);

}  // namespace signalbox::selection
