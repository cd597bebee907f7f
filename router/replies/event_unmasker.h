#pragma once
// Restores originals in the events of Anthropic's messages and OpenAI's responses, which pass as
// the server wrote them.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "router/replies/unmask_text.h"
#include "router/splice/edit.h"

namespace signalbox::replies {

/// For one stream. A text extends over all deltas of its block or part; what may still become a
/// placeholder is held back, and sent as a further delta before the event that ends the text. The
/// numbers of a response's later events grow by that delta. Thoughts stay as they are: their server
/// signs them, and gets them back with the client's next request.
class EventUnmasker {
 public:
  /// Further texts of a stream are not held back, so a placeholder that is split there stays.
  static constexpr size_t kTextsMax = 1024;

  /// The masks must outlive this object.
  explicit EventUnmasker(const ReplyMasks& masks) : masks_(masks) {}

  /// Returns the event with originals. Appends to `before` the events that must precede it.
  std::string edit(const json::Document& event, std::string& before);
  /// Call it when all texts have ended.
  void finish(std::string& before);

 private:
  struct Text {
    TextUnmasker unmasker;
    std::string name;           // of the event
    std::string before, after;  // the JSON around the text of its last delta
    bool has_number;            // the JSON ends with a place for sequence_number
  };
  using Texts = std::map<std::string, Text, std::less<>>;

  void push(const json::Value& root, const json::Value& text, std::string key, bool is_json,
            std::vector<splice::Edit>& edits);
  void flush(Texts::iterator text, std::string& before);
  void renumber(const json::Value& root, std::vector<splice::Edit>& edits);

  const ReplyMasks& masks_;
  Texts texts_;
  int64_t number_ = -1;   // of the last event, as the client knows it
  int64_t inserted_ = 0;  // events
};

/// Appends the positions of all strings in thoughts that a server signs or encrypts, in the order
/// of the source.
void find_signed_strings(const json::Value& value, std::vector<size_t>& out);

}  // namespace signalbox::replies
