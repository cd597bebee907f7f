#pragma once
// Originals back into the texts of choices, each of which is one text over all chunks of a stream.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/json.h"
#include "router/replies/reply_pieces.h"
#include "router/replies/unmask_text.h"
#include "router/splice/edit.h"

namespace signalbox::replies {

/// Of one stream. What a text holds goes out when a text of another kind begins or goes on, when a
/// call says who it is, and when the choice or the stream ends: behind the text's last piece if
/// that is in the same chunk, else in an event before the chunk.
class ChunkUnmasker {
 public:
  /// Of a stream with more texts, the rest is not held back: a placeholder that is split there
  /// stays.
  static constexpr size_t kTextsMax = 1024;

  /// The masks outlive it.
  explicit ChunkUnmasker(const ReplyMasks& masks) : masks_(masks) {}

  /// The chunk with originals. Appends to `before` the events that have to come before it.
  std::string edit(const json::Document& chunk, std::string& before);
  /// All texts have ended.
  void finish(std::string& before);

 private:
  struct Text {
    TextUnmasker unmasker;
    bool listed = false;                  // among those of its choice that may hold something
    std::string before = {}, after = {};  // around what is held: a member of its choice
    std::string_view said = {};           // its last piece in this chunk, ...
    std::optional<splice::Edit> now = std::nullopt;  // ... and what becomes of it, not quoted yet
  };
  struct ByParts {  // keys of strings and of views of them
    using is_transparent = void;
    bool operator()(const auto& a, const auto& b) const {
      const auto parts = [](const auto& key) {
        return std::tuple<std::string_view, std::string_view, int64_t>(key);
      };
      return parts(a) < parts(b);
    }
  };
  struct Choice {
    std::string kind;  // of what it says now: texts of others hold nothing
    std::map<std::tuple<std::string, std::string, int64_t>, Text, ByParts> texts;
    std::vector<Text*> holding;  // or have held
  };
  using Choices = std::map<int64_t, Choice>;

  void take(int64_t index, const Piece& piece, std::string& before);
  Text* add(Choice& choice, const Piece& piece);
  void push(Choice& choice, Text& text, const Piece& piece);
  void settle(Text& text);
  void end(Choices::value_type& choice, const Text* except, std::string& before);

  const ReplyMasks& masks_;
  Choices choices_;
  size_t texts_ = 0;

  // Of the chunk at hand.
  std::string head_;  // members that chunks of our own repeat
  std::vector<splice::Edit> edits_;
  std::vector<size_t> done_;   // where the strings begin that are texts
  std::vector<Text*> spoken_;  // texts that have a piece that is not among the edits yet
};

}  // namespace signalbox::replies
