// Kinds follow what clients show: reasoning may come under two names at once, calls grow in turns,
// and the content ends when the reasoning continues.

#include "router/replies/reply_pieces.h"

#include <array>
#include <utility>

namespace signalbox::replies {
namespace {

using json::Value;
using Take = std::function<void(const Piece&)>;

constexpr std::string_view kReasoning = "reasoning", kContent = "content", kRefusal = "refusal",
                           kCalls = "calls";  // kinds
constexpr std::string_view kArguments = "arguments", kThinking = "thinking";
constexpr std::string_view kDelta = R"("delta":{)", kPart = R"("delta":{"content":[)";

bool has_string(const Value& object, std::string_view key) {
  const auto value = object.find(key);
  return value && value->is_string() && !value->text().empty();
}

// Passes on the `key` of an object if it is a text. `piece` holds the JSON around the object.
bool take_text(const Value& object, std::string_view key, Piece piece, const Take& take) {
  piece.text = object.find(key);
  if (!piece.text || !piece.text->is_string()) return false;
  piece.before += fmt::format("\"{}\":", key);
  take(piece);
  return true;
}

// Returns a copy of the member "type" with a comma, or "" if there is none.
std::string type_member(const Value& object) {
  const auto type = object.find("type");
  return type ? fmt::format("\"type\":{},", type->raw()) : std::string();
}

// OpenRouter's details repeat the reasoning next to them.
void each_detail(const Value& delta, const Take& take) {
  const auto details = delta.find("reasoning_details");
  if (!details) return;
  for (const Value& detail : details->items()) {
    const int64_t index = index_member(detail);
    const std::string before = fmt::format(R"({}"reasoning_details":[{{{}"index":{},)", kDelta,
                                           type_member(detail), index);
    for (const std::string_view key : {"text", "summary"})
      take_text(
          detail, key,
          {.kind = kReasoning, .name = key, .number = index, .before = before, .after = "}]}"},
          take);
  }
}

// A part whose type is not "text" is a text of its own kind.
void take_part(const Value& part, const Take& take) {
  if (part.is_string())
    return take({.kind = kContent,
                 .name = kContent,
                 .text = part,
                 .before = std::string(kPart),
                 .after = "]}"});
  const std::string open = fmt::format("{}{{{}", kPart, type_member(part));
  const auto type = part.find("type");
  const std::string_view kind =
      has_string(part, "type") && type->text() != "text" ? type->text() : kContent;
  if (take_text(part, "text", {.kind = kind, .name = kContent, .before = open, .after = "}]}"},
                take))
    return;
  if (take_text(part, kThinking,
                {.kind = kReasoning, .name = kThinking, .before = open, .after = "}]}"}, take))
    return;
  bool found = false;
  if (const auto thoughts = part.find(kThinking)) {
    const std::string within = open + R"("thinking":[{"type":"text",)";
    for (const Value& thought : thoughts->items())
      found |= take_text(
          thought, "text",
          {.kind = kReasoning, .name = kThinking, .before = within, .after = "}]}]}"}, take);
  }
  if (!found) take({.begins = true});
}

void take_call(const Value& call, const Take& take) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kForms{
      {{"function", kArguments}, {"custom", "input"}}};
  const int64_t index = index_member(call);
  for (const auto& [form, key] : kForms) {
    const auto function = call.find(form);
    if (!function) continue;
    const Piece piece{
        .kind = kCalls,
        .name = key,
        .number = index,
        .begins = has_string(call, "id") || has_string(*function, "name"),
        .before = fmt::format(R"({}"tool_calls":[{{"index":{},"{}":{{)", kDelta, index, form),
        .after = "}}]}"};
    if (!take_text(*function, key, piece, take) && piece.begins) take(piece);
  }
}

}  // namespace

void each_piece(const Value& choice, const Take& take) {
  take_text(choice, "text", {.kind = kContent, .name = "text"}, take);  // plain completions
  const auto delta = choice.find("delta");
  if (!delta) return;
  const auto take_member = [&](std::string_view kind, std::string_view name) {
    take_text(*delta, name,
              {.kind = kind, .name = name, .before = std::string(kDelta), .after = "}"}, take);
  };
  take_member(kReasoning, "reasoning_content");
  take_member(kReasoning, "reasoning");
  each_detail(*delta, take);
  take_member(kContent, kContent);
  if (const auto content = delta->find(kContent)) {
    for (const Value& part : content->items()) take_part(part, take);
  }
  take_member(kRefusal, kRefusal);
  if (const auto call = delta->find("function_call")) {
    const std::string before = fmt::format(R"({}"function_call":{{)", kDelta);
    take_text(*call, kArguments,
              {.kind = kCalls,
               .name = kArguments,
               .number = -1,
               .begins = has_string(*call, "name"),
               .before = before,
               .after = "}}"},
              take);
  }
  if (const auto calls = delta->find("tool_calls")) {
    for (const Value& call : calls->items()) take_call(call, take);
  }
}

int64_t index_member(const Value& object) {
  const auto index = object.find("index");
  return index ? index->integer().value_or(0) : 0;
}

bool ends_choice(const Value& choice) {
  return has_string(choice, "finish_reason");
}

bool is_arguments(const Piece& piece) {
  return piece.name == kArguments;
}

}  // namespace signalbox::replies
