#pragma once
// Reads the conversation of a request of Anthropic's Messages API: its system prompt and its turns.

#include <string>
#include <string_view>
#include <vector>

#include "router/dialects/chat_messages.h"
#include "router/dialects/losses.h"

namespace signalbox::dialects {

/// Collects the messages of a chat completion. Errors: kInvalid for a malformed member, with its
/// path.
class MessagesContent {
 public:
  /// The losses outlive this object.
  explicit MessagesContent(Losses& losses) : losses_(losses) {}

  Result<void> add_system(const json::Value& system);
  Result<void> add_message(const json::Value& message, const std::string& path);
  /// The elements of the array, with one system message at the front.
  std::string take() { return gather_system(messages_.take()); }

 private:
  Result<void> add_blocks(const json::Value& content, const std::string& path,
                          std::string_view role);
  Result<void> add_block(const json::Value& block, const std::string& path, std::string_view role);
  Result<void> add_text(const json::Value& block, const std::string& path);
  Result<void> add_image(const json::Value& block, const std::string& path);
  Result<void> add_document(const json::Value& block, const std::string& path,
                            std::string_view role);
  Result<void> add_search_result(const json::Value& block, const std::string& path);
  Result<void> add_call(const json::Value& block, const std::string& path);
  Result<void> add_result(const json::Value& block, const std::string& path);
  Result<void> add_result_part(const json::Value& part, const std::string& path,
                               std::vector<std::string>& texts);

  Losses& losses_;
  ChatMessages messages_;
  std::vector<std::string> images_;  // from tool results, for the user's next message
};

}  // namespace signalbox::dialects
