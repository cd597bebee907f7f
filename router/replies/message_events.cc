// Blocks follow each other, with one open at a time.

#include "router/replies/message_events.h"

#include <algorithm>
#include <utility>

#include "base/json_writer.h"
#include "router/replies/reply_content.h"
#include "router/replies/reply_pieces.h"

namespace signalbox::replies {
namespace {

constexpr std::string_view kBlockStart = "content_block_start", kBlockDelta = "content_block_delta",
                           kBlockStop = "content_block_stop", kEnd = "message_delta",
                           kLast = "message_stop";

/// The text of a delta. Arguments, thoughts, signatures and citations have none.
std::string text_of_delta(const json::Value& delta) {
  const std::string_view type = text_member(delta, "type");
  if (type == "text_delta") {
    const auto text = delta.find("text");
    return text && text->is_string() ? std::string(text->text()) : all_strings(delta);
  }
  const bool is_silent = type == "input_json_delta" || type == "thinking_delta" ||
                         type == "signature_delta" || type == "citations_delta";
  return is_silent ? std::string() : all_strings(delta);
}

std::string delta_event(int64_t block, std::string_view text) {
  return named_event(
      kBlockDelta,
      fmt::format(R"({{"type":"{}","index":{},"delta":{{"type":"text_delta","text":{}}}}})",
                  kBlockDelta, block, json::quote(text)));
}

std::string stop_event(int64_t block) {
  return named_event(kBlockStop, fmt::format(R"({{"type":"{}","index":{}}})", kBlockStop, block));
}

}  // namespace

EventContent MessageEvents::read(std::string data) {
  step_ = {};
  EventContent out;
  const auto event = parse_named_event(std::move(data), out);
  return event ? read_event(event->root()) : out;
}

EventContent MessageEvents::read_event(const json::Value& root) {
  EventContent out;
  const std::string_view type = text_member(root, "type");
  if (type == "ping") return out;
  out.is_content = true;
  std::string text;
  if (type == "message_start") {
    step_.begins = true;
    const auto message = root.find("message");
    const auto usage = message ? message->find("usage") : std::nullopt;
    const auto tokens = usage ? usage->find("output_tokens") : std::nullopt;
    if (tokens && tokens->is_number()) output_tokens_ = tokens->raw();
    const auto blocks = message ? message->find("content") : std::nullopt;
    if (blocks) {
      for (const json::Value block : blocks->items()) text += text_of_block(block);
    }
  } else if (type == kBlockStart) {
    const auto block = root.find("content_block");
    step_.opens = index_member(root);
    step_.opens_text = block && text_member(*block, "type") == "text";
    if (block) text = text_of_block(*block);
    out.calls = block && calls_client(*block);
  } else if (type == kBlockDelta) {
    if (const auto delta = root.find("delta")) text = text_of_delta(*delta);
  } else if (type == kBlockStop) {
    step_.closes = true;
  } else if (type == kEnd) {
    const auto delta = root.find("delta");
    out.ends = delta && !text_member(*delta, "stop_reason").empty();
  } else if (type == kLast) {
    out.ends = out.last = true;
  } else if (type != "error") {
    text = all_strings(root);
  }
  step_.ends = out.ends;
  if (!text.empty() || out.ends) out.choices.push_back({0, std::move(text), out.ends});
  return out;
}

// Behind the end, blocks would open for a client that has not got the end yet.
void MessageEvents::advance() {
  const Step step = std::exchange(step_, {});
  if (has_ended_) return;
  has_begun_ = has_begun_ || step.begins;
  has_ended_ = step.ends;
  if (step.closes || step.opens) {
    open_ = step.opens;
    is_text_open_ = step.opens_text;
  }
  if (step.opens) blocks_ = std::max(blocks_, *step.opens + 1);
}

std::string MessageEvents::text(int64_t, std::string_view text, const std::vector<ReplyMark>&) {
  if (!has_begun_) return {};
  if (is_text_open_) return delta_event(*open_, text);
  std::string out = open_ ? stop_event(*std::exchange(open_, std::nullopt)) : std::string();
  const int64_t block = blocks_++;
  out += named_event(
      kBlockStart,
      fmt::format(R"({{"type":"{}","index":{},"content_block":{{"type":"text","text":""}}}})",
                  kBlockStart, block));
  return out + delta_event(block, text) + stop_event(block);
}

std::string MessageEvents::end(int64_t, const std::vector<ReplyMark>&) {
  if (!has_begun_) {
    return named_event(
        "error",
        R"({"type":"error","error":{"type":"api_error","message":"the reply was withheld"}})");
  }
  std::string out = open_ ? stop_event(*open_) : std::string();
  return out +
         named_event(kEnd, fmt::format(R"({{"type":"{}","delta":{{"stop_reason":"refusal",)"
                                       R"("stop_sequence":null}},"usage":{{"output_tokens":{}}}}})",
                                       kEnd, output_tokens_));
}

std::string MessageEvents::last() {
  if (!has_begun_) return {};
  return named_event(kLast, fmt::format(R"({{"type":"{}"}})", kLast));
}

}  // namespace signalbox::replies
