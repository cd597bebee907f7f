#pragma once
// Reads the input of a request of the Responses API: a text, or items.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "router/dialects/chat_messages.h"
#include "router/dialects/losses.h"
#include "router/dialects/responses.h"
#include "router/dialects/sparse_text.h"

namespace signalbox::dialects {

/// The name of a function that stands for a tool of a namespace.
std::string function_name(std::string_view space, std::string_view name);

/// Collects the messages of a chat completion. Errors: kInvalid for a malformed member, with its
/// path.
class ResponsesInput {
 public:
  /// All arguments outlive this object.
  ResponsesInput(std::string_view token, const Earlier& earlier, Losses& losses)
      : token_(token), earlier_(earlier), losses_(losses) {}
  /// Call it before add_input() if nobody needs take_listed().
  void list_nothing() { lists_ = false; }

  Result<void> add_input(const json::Value& input);
  /// The elements of the array of messages.
  std::string take() { return messages_.take(); }
  /// The items as the API lists them, elements of an array. The base are the messages, in which
  /// those of take() begin at `begin`. Call it after take().
  SparseText take_listed(size_t begin);

 private:
  Result<void> add_item(const json::Value& item, const std::string& path);
  Result<void> add_by_type(const json::Value& item, std::string_view type, const std::string& path);
  Result<void> add_message(const json::Value& item, const std::string& path);
  Result<void> add_part(const json::Value& part, const std::string& path);
  Result<void> add_image(const json::Value& part, const std::string& path);
  Result<void> add_file(const json::Value& part, const std::string& path);
  Result<void> add_call(const json::Value& item, const std::string& path, bool custom);
  Result<void> add_output(const json::Value& item, const std::string& path);
  Result<void> add_client_call(const json::Value& item, std::string_view type,
                               const std::string& path);
  Result<void> add_client_output(const json::Value& item, const std::string& path);
  void show_rest(const json::Value& item, std::string_view key);
  Result<void> add_reference(const json::Value& item, const std::string& path);
  Result<void> add_reasoning(const json::Value& item, const std::string& path);
  void add_listed_item(const json::Value& item, std::string_view kind, size_t first_text);
  void list_key(std::string_view key);
  void list(std::string_view json, size_t first_text);
  void flush_media();

  std::string_view token_;
  const Earlier& earlier_;
  Losses& losses_;
  ChatMessages messages_;
  std::vector<std::string> media_;  // from results of tools, for the user's next message
  SparseText listed_;               // `from` is the number of a long text of the messages
  size_t items_ = 0;                // listed ones
  bool lists_ = true;
  bool resolving_ = false;  // an item that another one refers to
};

}  // namespace signalbox::dialects
