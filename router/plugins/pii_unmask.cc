// Replies are edited as requests are: bytes of JSON that need no change stay as they came.

#include "router/plugins/pii_unmask.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/json_writer.h"
#include "router/api/words.h"
#include "router/plugins/chunk_head.h"
#include "router/plugins/edit.h"

namespace signalbox::router {
namespace {

constexpr std::string_view kArguments = "arguments";
constexpr std::string_view kText = "text";  // of a choice itself, in chunks of plain completions
constexpr std::string_view kPart = "content[].text";         // where a content is a list of parts
constexpr std::string_view kThought = "content[].thinking";  // parts within a part (Mistral)
constexpr std::string_view kData = "data:";

// What is JSON in a string needs the originals as JSON has them.
const std::vector<Mask>& masks_in(std::string_view text, bool is_arguments,
                                  const ReplyMasks& masks) {
  return is_arguments || json_within(text) ? masks.in_json : masks.in_text;
}

void unmask_strings(const json::Value& value, bool is_arguments, const ReplyMasks& masks,
                    std::vector<Edit>& edits) {
  if (value.is_string()) {
    std::string text = unmasked(value.text(), masks_in(value.text(), is_arguments, masks));
    if (text != value.text()) edits.push_back({value.begin(), value.end(), json::quote(text)});
  }
  for (const json::Value& item : value.items()) unmask_strings(item, is_arguments, masks, edits);
  for (const json::Member& member : value.members())
    unmask_strings(member.value, member.key == kArguments, masks, edits);
}

bool is_blank(std::string_view text) {
  return std::all_of(text.begin(), text.end(), ascii::is_space);
}

// Whether a text that begins so is JSON: of a stream the rest is not there yet. A placeholder opens
// as an array does.
bool opens_json(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  if (text.empty()) return false;
  return text[0] == '{' || (text[0] == '[' && text.size() > 1 && !ascii::is_upper(text[1]));
}

int64_t index_of(const json::Value& object) {
  const auto index = object.find("index");
  const auto value = index ? index->integer() : Result<int64_t>(0);
  return value ? *value : 0;
}

struct Delta {
  std::string name;
  int64_t call;  // of kArguments; -1 for those of a function_call
  json::Value text;
};

std::vector<Delta> deltas_of(const json::Value& choice) {
  std::vector<Delta> out;
  const auto add = [&](std::string_view name, int64_t call, const json::Value& object) {
    const auto text = object.find(name);
    if (text && text->is_string()) out.push_back({std::string(name), call, *text});
  };
  add(kText, 0, choice);
  const auto delta = choice.find("delta");
  if (!delta) return out;
  for (const std::string_view name : {"content", "reasoning_content", "reasoning", "refusal"})
    add(name, 0, *delta);
  const auto add_parts = [&](std::string_view name, const json::Value& parts) {
    for (const json::Value& part : parts.items()) {
      const auto text = part.find("text");
      if (text && text->is_string()) out.push_back({std::string(name), 0, *text});
    }
  };
  if (const auto content = delta->find("content")) {
    add_parts(kPart, *content);
    for (const json::Value& part : content->items())
      if (const auto thought = part.find("thinking")) add_parts(kThought, *thought);
  }
  if (const auto call = delta->find("function_call")) add(kArguments, -1, *call);
  const auto calls = delta->find("tool_calls");
  if (!calls) return out;
  for (const json::Value& call : calls->items()) {
    if (const auto function = call.find("function")) add(kArguments, index_of(call), *function);
  }
  return out;
}

/// The member of a choice that carries a text.
std::string delta_json(std::string_view name, int64_t call, const std::string& text) {
  const std::string quoted = json::quote(text);
  if (name == kText) return fmt::format(R"("text":{})", quoted);
  if (name == kPart)
    return fmt::format(R"("delta":{{"content":[{{"type":"text","text":{}}}]}})", quoted);
  if (name == kThought) {
    constexpr std::string_view kForm =
        R"("delta":{{"content":[{{"type":"thinking","thinking":[{{"type":"text","text":{}}}]}}]}})";
    return fmt::format(kForm, quoted);
  }
  if (name != kArguments) return fmt::format(R"("delta":{{"{}":{}}})", name, quoted);
  if (call < 0) return fmt::format(R"("delta":{{"function_call":{{"arguments":{}}}}})", quoted);
  return fmt::format(R"("delta":{{"tool_calls":[{{"index":{},"function":{{"arguments":{}}}}}]}})",
                     call, quoted);
}

}  // namespace

ReplyMasks::ReplyMasks(std::vector<Mask> masks) : in_text(std::move(masks)), in_json(in_text) {
  for (Mask& mask : in_json) {
    const std::string quoted = json::quote(mask.original);
    mask.original = quoted.substr(1, quoted.size() - 2);
  }
}

std::string unmask_reply(std::string body, const ReplyMasks& masks) {
  const auto document = json::Document::parse(body);
  if (!document) return unmasked(body, masks.in_text);
  std::vector<Edit> edits;
  unmask_strings(document->root(), false, masks, edits);
  return edits.empty() ? body : apply(document->source(), std::move(edits));
}

Result<void> StreamUnmasker::push(std::string_view bytes, std::string& out) {
  for (;;) {
    const size_t end = bytes.find('\n');
    if (rest_.size() + std::min(end, bytes.size()) > kLineBytesMax)
      return fail(Code::kTooLarge, "an event of the reply is longer than {} bytes", kLineBytesMax);
    if (end == std::string_view::npos) break;
    rest_ += bytes.substr(0, end + 1);
    bytes.remove_prefix(end + 1);
    line(rest_, out);
    rest_.clear();
  }
  rest_ += bytes;
  return {};
}

void StreamUnmasker::finish(std::string& out) {
  if (!rest_.empty()) line(rest_, out);
  rest_.clear();
  flush(texts_.begin(), texts_.end(), out);
}

// With its line feed, if it has one.
void StreamUnmasker::line(std::string_view line, std::string& out) {
  const size_t last = line.find_last_not_of("\r\n");
  const std::string_view text = line.substr(0, last + 1);
  if (!text.starts_with(kData)) {
    out += line;
    return;
  }
  const size_t begin = std::min(text.find_first_not_of(' ', kData.size()), text.size());
  const std::string_view data = text.substr(begin);
  if (data == "[DONE]") flush(texts_.begin(), texts_.end(), out);
  const auto chunk = json::Document::parse(std::string(data));
  if (!chunk) {
    out += data == "[DONE]" ? std::string(line) : unmasked(line, masks_.in_json);
    return;
  }
  const std::string edited = event(*chunk, out);
  out += line.substr(0, begin);
  out += edited;
  out += line.substr(text.size());
}

// The chunk with its texts unmasked; `out` gets what its choices still held back, if it ends them.
std::string StreamUnmasker::event(const json::Document& chunk, std::string& out) {
  const json::Value root = chunk.root();
  const auto choices = root.find("choices");
  if (!choices) return unmask_reply(std::string(chunk.source()), masks_);
  head_ = chunk_head(root);
  std::vector<Edit> edits;
  for (const json::Value& choice : choices->items()) {
    const int64_t index = index_of(choice);
    const auto reason = choice.find("finish_reason");
    const bool ends = reason && !reason->is_null();
    for (const Delta& each : deltas_of(choice)) {
      const Field field{index, each.name, each.call};
      auto text = texts_.find(field);
      if (text == texts_.end()) {
        if (is_blank(each.text.text())) continue;
        const bool is_json = each.name == kArguments || opens_json(each.text.text());
        text = texts_.emplace(field, is_json ? masks_.in_json : masks_.in_text).first;
      }
      std::string now;
      text->second.push(each.text.text(), now);
      if (ends) text->second.finish(now);
      if (now != each.text.text())
        edits.push_back({each.text.begin(), each.text.end(), json::quote(now)});
    }
    if (ends)
      flush(texts_.lower_bound({index, "", INT64_MIN}),
            texts_.lower_bound({index + 1, "", INT64_MIN}), out);
  }
  return apply(chunk.source(), std::move(edits));
}

void StreamUnmasker::flush(std::map<Field, Unmasker>::iterator begin,
                           std::map<Field, Unmasker>::iterator end, std::string& out) {
  for (; begin != end; ++begin) {
    const auto& [choice, name, call] = begin->first;
    std::string held;
    begin->second.finish(held);
    if (held.empty()) continue;
    out += fmt::format("data: {}\"choices\":[{{\"index\":{},{},\"finish_reason\":null}}]}}\n\n",
                       head_, choice, delta_json(name, call, held));
  }
}

}  // namespace signalbox::router
