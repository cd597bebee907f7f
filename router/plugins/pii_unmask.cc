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
constexpr std::string_view kContent = "content", kThinking = "thinking";  // texts in lists of parts
constexpr std::string_view kData = "data:";

// What is JSON in a string needs the originals as JSON has them.
const MaskTable& masks_in(std::string_view text, bool is_arguments, const ReplyMasks& masks) {
  return is_arguments || json_within(text) ? masks.in_json : masks.in_text;
}

/// All strings of `value` but those that begin at `done`, sorted.
void unmask_strings(const json::Value& value, bool is_arguments, const ReplyMasks& masks,
                    const std::vector<size_t>& done, std::vector<Edit>& edits) {
  if (value.is_string() && value.text().find('[') != std::string_view::npos &&
      !std::ranges::binary_search(done, value.begin())) {
    std::string text = unmasked(value.text(), masks_in(value.text(), is_arguments, masks));
    if (text != value.text()) edits.push_back({value.begin(), value.end(), json::quote(text)});
  }
  for (const json::Value& item : value.items())
    unmask_strings(item, is_arguments, masks, done, edits);
  for (const json::Member& member : value.members())
    unmask_strings(member.value, member.key == kArguments, masks, done, edits);
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

/// Some more of a text, as a choice has it.
struct Piece {
  std::string_view name;  // of the text, "" for a part of the content that is none
  int64_t call = 0;       // of kArguments; -1 for those of a function_call
  json::Value value;
  std::string before, after;  // around a quoted text: the member of a choice that would say it
};

/// In the order in which a client reads them.
std::vector<Piece> pieces_of(const json::Value& choice) {
  std::vector<Piece> out;
  const auto add = [&](std::string_view name, int64_t call, const json::Value& object,
                       std::string_view key, std::string before, std::string_view after) {
    const auto text = object.find(key);
    if (!text || !text->is_string()) return false;
    out.push_back({name, call, *text, fmt::format("{}\"{}\":", before, key), std::string(after)});
    return true;
  };
  add("text", 0, choice, "text", "", "");  // plain completions
  const auto delta = choice.find("delta");
  if (!delta) return out;
  constexpr std::array<std::string_view, 4> kMembers{"reasoning_content", "reasoning", kContent,
                                                     "refusal"};
  for (const std::string_view name : kMembers) add(name, 0, *delta, name, R"("delta":{)", "}");
  if (const auto content = delta->find(kContent)) {
    for (const json::Value& part : content->items()) {
      const std::string open = R"("delta":{"content":[)";
      const std::string thinking = open + R"({"type":"thinking",)";
      if (part.is_string()) {
        out.push_back({kContent, 0, part, open, "]}"});
        continue;
      }
      if (add(kContent, 0, part, "text", open + R"({"type":"text",)", "}]}")) continue;
      if (add(kThinking, 0, part, kThinking, thinking, "}]}")) continue;
      bool found = false;
      if (const auto thoughts = part.find(kThinking)) {
        for (const json::Value& thought : thoughts->items())
          found |= add(kThinking, 0, thought, "text", thinking + R"("thinking":[{"type":"text",)",
                       "}]}]}");
      }
      if (!found) out.push_back({"", 0, part, "", ""});
    }
  }
  if (const auto call = delta->find("function_call"))
    add(kArguments, -1, *call, kArguments, R"("delta":{"function_call":{)", "}}");
  const auto calls = delta->find("tool_calls");
  if (!calls) return out;
  for (const json::Value& call : calls->items()) {
    const int64_t index = index_of(call);
    const std::string open = fmt::format(R"("delta":{{"tool_calls":[{{"index":{},)", index);
    if (const auto function = call.find("function"))
      add(kArguments, index, *function, kArguments, open + R"("function":{)", "}}]}");
    if (const auto custom = call.find("custom"))
      add("input", index, *custom, "input", open + R"("custom":{)", "}}]}");
  }
  return out;
}

// As JSON within a string has them.
std::vector<Mask> quoted(std::vector<Mask> masks) {
  for (Mask& mask : masks) {
    const std::string quotes = json::quote(mask.original);
    mask.original = quotes.substr(1, quotes.size() - 2);
  }
  return masks;
}

}  // namespace

ReplyMasks::ReplyMasks(const std::vector<Mask>& masks) : in_text(masks), in_json(quoted(masks)) {}

std::string unmask_reply(std::string body, const ReplyMasks& masks) {
  const auto document = json::Document::parse(body);
  if (!document) return unmasked(body, masks.in_text);
  std::vector<Edit> edits;
  unmask_strings(document->root(), false, masks, {}, edits);
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

// The chunk with its texts unmasked; `out` gets what was held back and has to come before it.
std::string StreamUnmasker::event(const json::Document& chunk, std::string& out) {
  const json::Value root = chunk.root();
  const auto choices = root.find("choices");
  if (!choices) return unmask_reply(std::string(chunk.source()), masks_);
  head_ = chunk_head(root);
  std::vector<Edit> edits;
  std::vector<size_t> done;  // where the strings begin that are texts
  for (const json::Value& choice : choices->items()) {
    const int64_t index = index_of(choice);
    const std::vector<Piece> pieces = pieces_of(choice);
    std::vector<std::string> now;  // (pieces so far), unmasked
    const auto field_of = [&](const Piece& piece) {
      return Field{index, std::string(piece.name), piece.call};
    };
    const auto end = [&](std::map<Field, Text>::iterator text) {
      if (text == texts_.end() || !text->second.unmasker.holds_back()) return;
      size_t last = now.size();
      while (last > 0 && field_of(pieces[last - 1]) != text->first) --last;
      if (last > 0) {
        text->second.unmasker.finish(now[last - 1]);
      } else {
        flush(text, std::next(text), out);
      }
    };
    for (const Piece& piece : pieces) {
      if (piece.name != kContent && (piece.name.empty() || piece.name == kThinking))
        end(texts_.find({index, std::string(kContent), 0}));
      if (piece.name != kThinking && (piece.name.empty() || piece.name == kContent))
        end(texts_.find({index, std::string(kThinking), 0}));
      now.emplace_back();
      if (piece.name.empty()) continue;
      const std::string_view said = piece.value.text();
      const Field field = field_of(piece);
      done.push_back(piece.value.begin());
      auto text = texts_.find(field);
      if (text == texts_.end()) {
        if (is_blank(said)) {
          now.back() = said;
          continue;
        }
        const bool is_json = piece.name == kArguments || opens_json(said);
        text =
            texts_.emplace(field, Text{Unmasker(is_json ? masks_.in_json : masks_.in_text)}).first;
      }
      text->second.before = piece.before;
      text->second.after = piece.after;
      text->second.unmasker.push(said, now.back());
    }
    const auto reason = choice.find("finish_reason");
    if (reason && !reason->is_null()) {
      const auto past = texts_.lower_bound({index + 1, "", INT64_MIN});
      for (auto text = texts_.lower_bound({index, "", INT64_MIN}); text != past; ++text) end(text);
    }
    for (size_t i = 0; i < pieces.size(); ++i) {
      const json::Value& value = pieces[i].value;
      if (!pieces[i].name.empty() && now[i] != value.text())
        edits.push_back({value.begin(), value.end(), json::quote(now[i])});
    }
  }
  std::ranges::sort(done);
  unmask_strings(root, false, masks_, done, edits);
  return apply(chunk.source(), std::move(edits));
}

void StreamUnmasker::flush(std::map<Field, Text>::iterator begin,
                           std::map<Field, Text>::iterator end, std::string& out) {
  for (; begin != end; ++begin) {
    auto& [unmasker, before, after] = begin->second;
    std::string held;
    unmasker.finish(held);
    if (held.empty()) continue;
    out += fmt::format("data: {}\"choices\":[{{\"index\":{},{}{}{},\"finish_reason\":null}}]}}\n\n",
                       head_, std::get<0>(begin->first), before, json::quote(held), after);
  }
}

}  // namespace signalbox::router
