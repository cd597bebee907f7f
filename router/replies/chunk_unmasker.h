#pragma once
// Restores originals in the texts of choices. Each text extends over all chunks of a stream.

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

/// For one stream. The held-back part of a text is sent when a text of another kind begins or
/// continues, when a call gives its id or name, and when the choice or the stream ends. It follows
/// the text's last piece if that piece is in the same chunk; otherwise it is sent in an event
/// before the chunk.
class ChunkUnmasker {
 public:
  /// Further texts of a stream are not held back, so a placeholder that is split there stays.
  static constexpr size_t kTextsMax = 1024;

  /// The masks must outlive this object.
  explicit ChunkUnmasker(const ReplyMasks& masks) : masks_(masks) {}

  /// Returns the chunk with originals. Appends to `before` the events that must precede it.
  std::string edit(const json::Document& chunk, std::string& before);
  /// Call it when all texts have ended.
  void finish(std::string& before);

 private:
  struct Text {
    TextUnmasker unmasker;
    bool listed = false;  // in its choice's `holding`
    // The JSON around the held-back part: a member of its choice.
    std::string before = {}, after = {};
    std::string_view original = {};  // its last piece in this chunk
    // The edit that replaces that piece, not quoted yet.
    std::optional<splice::Edit> edit_now = std::nullopt;
  };
  struct ByParts {  // compares keys of strings with keys of views
    using is_transparent = void;
    bool operator()(const auto& a, const auto& b) const {
      const auto parts = [](const auto& key) {
        return std::tuple<std::string_view, std::string_view, int64_t>(key);
      };
      return parts(a) < parts(b);
    }
  };
  struct Choice {
    std::string kind;  // kind of the current text; texts of other kinds hold nothing back
    std::map<std::tuple<std::string, std::string, int64_t>, Text, ByParts> texts;
    std::vector<Text*> holding;  // texts that hold something back, or have done so
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

  // For the current chunk.
  std::string head_;  // members that inserted chunks repeat
  std::vector<splice::Edit> edits_;
  std::vector<size_t> text_begins_;  // where the strings of texts begin
  std::vector<Text*> open_texts_;    // texts with a piece that is not among the edits yet
};

}  // namespace signalbox::replies
