#pragma once
// The messages of a chat completion request as other APIs' turns become them, and what readers of
// those share.

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/json_writer.h"

namespace signalbox::dialects {

/// Puts messages together, one at a time. Arguments named `json` are JSON already.
class ChatMessages {
 public:
  /// Begins a message, unless the last one is of that role and still open for more.
  void begin(std::string_view role);
  /// The last message is whole: what comes begins another.
  void end();

  void add_text(std::string_view json);  // a JSON string
  void add_part(std::string json);
  void add_reasoning(std::string_view text);
  /// Of an assistant. `arguments` is the text of a JSON object.
  void add_call(std::string_view id, std::string_view name, std::string_view arguments);
  void add_result(std::string_view call, std::string_view content_json);
  bool is_open(std::string_view role) const { return !role_.empty() && role_ == role; }
  /// Whether the open message says anything but reasoning.
  bool has_content() const { return !parts_.empty() || !calls_.empty(); }

  /// The elements of the array, with commas between them.
  std::string take();

 private:
  struct Part {
    std::string json;
    bool is_text;
  };
  void append(std::string_view message);

  std::string out_;
  std::string role_;  // of the open message; "": none
  std::vector<Part> parts_;
  std::vector<std::string> calls_;
  std::string reasoning_;
};

/// kInvalid: "path: what is wrong", in the words of all our messages.
template <class... Args>
[[nodiscard]] tl::unexpected<Error> wrong(std::string_view path, fmt::format_string<Args...> format,
                                          Args&&... args) {
  return fail(Code::kInvalid, "{}: {}", path, fmt::format(format, std::forward<Args>(args)...));
}
[[nodiscard]] tl::unexpected<Error> wrong_type(std::string_view path, std::string_view expected,
                                               const json::Value& found);
/// The same of what no chat completion can say.
[[nodiscard]] tl::unexpected<Error> no_place(std::string_view path);

bool holds(std::span<const std::string_view> names, std::string_view name);

/// A member that must be a text. `path` is the object's, "" for the request itself.
Result<std::string_view> text_member(const json::Value& object, std::string_view key,
                                     std::string_view path);
/// The same of one that may be absent or null: "".
Result<std::string_view> optional_text(const json::Value& object, std::string_view key,
                                       std::string_view path);
/// A member that is there and not null.
std::optional<json::Value> given(const json::Value& object, std::string_view key);

/// kInvalid when an object has a member twice that is among `keys`: which is meant would be a
/// guess.
Result<void> refuse_repeats(const json::Value& object, std::span<const std::string_view> keys,
                            std::string_view path);

/// Members other than `known`, as the client wrote them, into the object that is open.
void copy_unknown(const json::Value& object, std::span<const std::string_view> known,
                  json::Writer& out);
bool has_unknown(const json::Value& object, std::span<const std::string_view> known);

std::string join_path(std::string_view path, std::string_view key);

}  // namespace signalbox::dialects
