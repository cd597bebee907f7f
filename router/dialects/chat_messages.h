#pragma once
// Builds the messages of a chat completion request from the turns of other APIs. Also holds helpers
// that the readers of those APIs share.

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "router/dialects/losses.h"

namespace signalbox::dialects {

/// Builds messages one at a time, and writes each part when it is added: a list of the parts of a
/// long message would be larger than the message. Arguments named `json` are already JSON.
class ChatMessages {
 public:
  ChatMessages() = default;
  /// Returns one that only collects the parts of one message, for take_texts().
  static ChatMessages collector();

  /// Begins a message, unless a message of that role is still open.
  void begin(std::string_view role);
  /// Closes the open message.
  void end();

  void add_text(std::string_view json);  // a JSON string
  void add_part(std::string_view json);
  void add_reasoning(std::string_view text);
  /// For an assistant's message. `arguments` is the text of a JSON object.
  void add_call(std::string_view id, std::string_view name, std::string_view arguments);
  void add_result(std::string_view call, std::string_view content_json);
  bool is_open(std::string_view role) const { return !role_.empty() && role_ == role; }
  /// True if the open message has anything except reasoning.
  bool has_content() const { return parts_ > 0 || !calls_.empty(); }

  /// A long text, and where it begins in what take() returns.
  struct LongText {
    std::string_view source;  // as the caller gave it, who may have freed it: only for addresses
    size_t at;
  };
  /// Those of texts and results, in their order. `at` is valid once take() was called.
  const std::vector<LongText>& long_texts() const { return long_texts_; }

  /// The elements of the array, separated by commas.
  std::string take();
  /// Discards the open message of a collector and returns its texts, as JSON. Other parts are
  /// appended to `rest`.
  std::vector<std::string> take_texts(std::vector<std::string>& rest);

 private:
  struct Part {
    std::string json;
    bool is_text;
  };
  void add(std::string_view json, bool is_text);
  void write_content();
  void separate();
  void note_if_long(std::string_view json);

  std::string out_;
  std::vector<LongText> long_texts_;
  std::string role_;        // of the open message; "": none
  size_t content_ = 0;      // where its content begins in out_
  size_t parts_ = 0;        // of it
  bool is_a_text_ = false;  // it has one part, a text without other members
  std::string calls_;       // of it, elements of an array
  std::string reasoning_;
  bool is_collector_ = false;
  std::vector<Part> collected_;  // by a collector, instead of writing them
};

/// kInvalid: "path: description".
template <class... Args>
[[nodiscard]] tl::unexpected<Error> wrong(std::string_view path, fmt::format_string<Args...> format,
                                          Args&&... args) {
  return fail(Code::kInvalid, "{}: {}", path, fmt::format(format, std::forward<Args>(args)...));
}
[[nodiscard]] tl::unexpected<Error> wrong_type(std::string_view path, std::string_view expected,
                                               const json::Value& found);
/// The reason to refuse a member that has no equivalent in a chat completion.
Error no_equivalent(std::string_view path);

/// Moves all messages with the role system or developer into the first of them, at the front,
/// because many servers accept no system message after the user's. Takes and returns the elements
/// of the array. Nothing changes if only the first message is one.
std::string gather_system(std::string messages);
/// False if gather_system() surely returns the same.
bool may_need_gathering(std::string_view messages);

bool holds(std::span<const std::string_view> names, std::string_view name);

/// Returns a member that must be a string. `path` is that of the object, "" for the request itself.
Result<std::string_view> text_member(const json::Value& object, std::string_view key,
                                     std::string_view path);
/// The same for a member that may be absent or null, which gives "".
Result<std::string_view> optional_text(const json::Value& object, std::string_view key,
                                       std::string_view path);
/// Returns a member that is present and not null.
std::optional<json::Value> given(const json::Value& object, std::string_view key);

/// True for a value that uses no feature: null, false or an empty array.
bool is_unset(const json::Value& value);
/// Drops those of the named members that are set. `name` is the object's path without indices.
void drop_members(const json::Value& object, std::span<const std::string_view> members,
                  std::string_view name, Losses& losses);

/// kInvalid if the object contains one of `keys` twice, because either value would be a guess, or
/// with other capitals, because servers that ignore case would read a member that the router has
/// not read.
Result<void> refuse_repeats(const json::Value& object, std::span<const std::string_view> keys,
                            std::string_view path);

/// Copies members other than `known` unchanged into the open object.
void copy_unknown(const json::Value& object, std::span<const std::string_view> known,
                  json::Writer& out);
bool has_unknown(const json::Value& object, std::span<const std::string_view> known);

std::string join_path(std::string_view path, std::string_view key);

}  // namespace signalbox::dialects
