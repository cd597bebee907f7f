#pragma once
// What a choice of a streamed completion says, of chat or of plain ones, in the forms that servers
// give it.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace signalbox::replies {

/// Some more of a text of a choice, or something else that clients read at its place among them.
struct Piece {
  /// Of the text: those of one kind grow side by side, those of two kinds one after the other.
  /// "": no text.
  std::string_view kind = {};
  std::string_view name = {};  // among those of its kind, with `number`
  int64_t number = 0;          // of a call, -1 for a function_call; of a detail of reasoning
  bool begins = false;         // a call that says who it is, or what is no text
  std::optional<json::Value> text = std::nullopt;  // a string
  std::string before = {}, after = {};             // around the quoted text: the member of a choice
};

/// Tells all pieces, in the order in which clients read them.
void each_piece(const json::Value& choice, const std::function<void(const Piece&)>& take);

/// The `index` of a choice or a call; 0 without one.
int64_t index_member(const json::Value& object);

/// Whether a chunk ends its choice. Some servers send "" for "not yet".
bool ends_choice(const json::Value& choice);

/// Of a piece of arguments, which are JSON by what they are there for.
bool is_arguments(const Piece& piece);

}  // namespace signalbox::replies
