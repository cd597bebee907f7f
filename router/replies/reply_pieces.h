#pragma once
// Splits a choice of a streamed completion, chat or plain, into texts, in all the forms that
// servers use.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace signalbox::replies {

/// A further piece of a text of a choice, or other content that clients read between texts.
struct Piece {
  /// The kind of the text. Texts of one kind grow side by side, texts of two kinds one after the
  /// other. "" means no text.
  std::string_view kind = {};
  std::string_view name = {};  // unique within the kind, with `number`
  int64_t number = 0;          // index of a call (-1: function_call) or of a reasoning detail
  bool begins = false;         // a call that gives its id or name, or content that is not text
  std::optional<json::Value> text = std::nullopt;  // a string
  std::string before = {}, after = {};  // the JSON around the quoted text: a member of a choice
};

/// Passes all pieces to `take`, in the order in which clients read them.
void each_piece(const json::Value& choice, const std::function<void(const Piece&)>& take);

/// The `index` of a choice or a call; 0 if there is none.
int64_t index_member(const json::Value& object);

/// True if a chunk ends its choice. Some servers send "" for "not yet".
bool ends_choice(const json::Value& choice);

/// True for a piece of arguments, which are always JSON.
bool is_arguments(const Piece& piece);

}  // namespace signalbox::replies
