// Events have no name: some client versions take a named event for another kind of stream. The
// delta is empty but present, since programs access the first choice without a check.

#include "router/replies/reply_marks.h"

#include "base/json_writer.h"
#include "router/replies/chunk_head.h"

namespace signalbox::replies {
namespace {

void write_spans(json::Writer& out, const ReplyMark& mark) {
  for (const ReplySpan& span : mark.spans) {
    out.begin_object().member("choice", mark.choice);
    out.member("start", static_cast<int64_t>(span.begin));
    out.member("end", static_cast<int64_t>(span.end)).member("text", span.text);
    out.member("verdict", span.verdict).member("score", span.score).end_object();
  }
}

std::string event(const ChunkHead& head, int64_t choice, std::string_view delta,
                  std::string_view finish_reason, const std::vector<ReplyMark>& marks) {
  const std::string guard =
      marks.empty() ? std::string() : fmt::format(",\"{}\":{}", kGuardMember, guard_json(marks));
  return fmt::format("data: {}\"choices\":[{{\"index\":{},{},\"finish_reason\":{}}}]{}}}\n\n",
                     head.members, choice, delta, finish_reason, guard);
}

std::string delta_of(const ChunkHead& head, std::string_view text) {
  if (head.plain_text) return fmt::format("\"text\":{}", json::quote(text));
  if (text.empty()) return "\"delta\":{}";
  return fmt::format("\"delta\":{{\"content\":{}}}", json::quote(text));
}

}  // namespace

ChunkHead ChunkHead::of(const json::Value& chunk) {
  ChunkHead out{chunk_head(chunk)};
  const auto object = chunk.find("object");
  out.plain_text = object && object->is_string() && object->text() == "text_completion";
  return out;
}

std::string guard_json(const std::vector<ReplyMark>& marks) {
  json::Writer out;
  const auto write_names = [&](std::string_view key, bool unchecked) {
    std::vector<std::string_view> seen;
    out.key(key).begin_array();
    for (const ReplyMark& mark : marks) {
      if (mark.unchecked != unchecked) continue;
      bool known = false;
      for (const std::string_view each : seen) known = known || each == mark.warning;
      if (known) continue;
      seen.push_back(mark.warning);
      out.string(mark.warning);
    }
    out.end_array();
  };
  bool any_unchecked = false, any_spans = false, ends = false;
  double score = 0;
  for (const ReplyMark& mark : marks) {
    any_unchecked = any_unchecked || mark.unchecked;
    any_spans = any_spans || !mark.spans.empty();
    ends = ends || mark.ends;
    if (mark.score > score) score = mark.score;
  }
  out.begin_object();
  write_names("warnings", false);
  if (any_unchecked) write_names("unchecked", true);
  if (any_spans) {
    out.key("spans").begin_array();
    for (const ReplyMark& mark : marks) write_spans(out, mark);
    out.end_array();
  }
  if (score > 0) out.member("score", score);
  if (ends) out.member("ended", true);
  return out.end_object().take();
}

std::string mark_event(const ChunkHead& head, int64_t choice, const std::vector<ReplyMark>& marks) {
  return event(head, choice, delta_of(head, ""), "null", marks);
}

std::string text_event(const ChunkHead& head, int64_t choice, std::string_view text,
                       const std::vector<ReplyMark>& marks) {
  return event(head, choice, delta_of(head, text), "null", marks);
}

std::string end_event(const ChunkHead& head, int64_t choice, const std::vector<ReplyMark>& marks) {
  return event(head, choice, delta_of(head, ""), "\"content_filter\"", marks);
}

std::string warning_text(const ReplyMark& mark) {
  if (mark.warning == kUnverified)
    return "[Unverified] There was no context to check the facts of this response against.";
  if (mark.unchecked)
    return "[Unchecked] A part of this response could not be checked against its context.";
  std::string out =
      "[Hallucination Warning] The context does not support everything that this response says.";
  for (size_t i = 0; i < mark.spans.size(); ++i) {
    const ReplySpan& span = mark.spans[i];
    std::string text;
    for (const char c : span.text) text.push_back(c == '\n' || c == '\r' ? ' ' : c);
    out += fmt::format("{} \"{}\" ({})", i == 0 ? " Not supported:" : ",", text, span.verdict);
  }
  return out;
}

}  // namespace signalbox::replies
