#pragma once
// The events of Anthropic's messages. All text blocks together are the text of choice 0.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "router/replies/reply_events.h"

namespace signalbox::replies {

/// A warning goes into the open text block, or into a block of its own before the end. The API has
/// no place for marks.
class MessageEvents final : public ReplyEvents {
 public:
  EventContent read(std::string data) override;
  void advance() override;
  bool takes_text() const override { return is_text_open_; }
  std::string mark(int64_t, const std::vector<ReplyMark>&) override { return {}; }
  std::string text(int64_t choice, std::string_view text,
                   const std::vector<ReplyMark>& marks) override;
  std::string end(int64_t choice, const std::vector<ReplyMark>& marks) override;
  std::string last() override;

 private:
  /// The effect of the event that was read last.
  struct Step {
    bool begins = false, closes = false, ends = false;
    std::optional<int64_t> opens = {};  // the number of a block
    bool opens_text = false;
  };
  EventContent read_event(const json::Value& root);

  Step step_;
  std::string output_tokens_ = "0";  // as the server counted them at the beginning
  bool has_begun_ = false, has_ended_ = false;
  std::optional<int64_t> open_;  // the number of the open block
  bool is_text_open_ = false;
  int64_t blocks_ = 0;
};

}  // namespace signalbox::replies
