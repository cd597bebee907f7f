// Converts code point offsets to bytes and returns the spans in text order.

#include "tools/labels.h"

#include <algorithm>

#include "tools/code_points.h"
#include "tools/jsonl.h"

namespace signalbox::tools {
namespace {

Result<uint32_t> offset_of(const json::Value& span, std::string_view name, uint32_t most) {
  const auto value = span.find(name);
  if (value) {
    const auto number = value->integer();
    if (number && *number >= 0 && *number <= most) return static_cast<uint32_t>(*number);
  }
  return fail(Code::kInvalid, "{}: expected 0 to {}, the text's length in code points", name, most);
}

}  // namespace

Result<std::vector<LabelledSpan>> read_spans(const json::Value& row, std::string_view text,
                                             const SpanForm& form) {
  const auto entities = row.find(form.member);
  if (!entities || !entities->is_array())
    return fail(Code::kInvalid, "{}: expected an array of spans", form.member);
  const auto before = code_points_before(text);
  const uint32_t most = before.back();
  // The byte at which each code point begins, and the end of the text. An inner byte writes the
  // entry of the next code point, which that code point's first byte then overwrites.
  std::vector<uint32_t> starts(most + 1);
  for (uint32_t i = 0; i < before.size(); ++i) starts[before[i]] = i;
  std::vector<LabelledSpan> out;
  for (const json::Value& each : entities->items()) {
    const std::string at = fmt::format("{}[{}]", form.member, out.size());
    LabelledSpan span;
    if (form.has_types) {
      auto type = label_member(each, "type");
      if (!type) return fail_in(at, std::move(type).error());
      span.type = *std::move(type);
    }
    auto begin = offset_of(each, "start", most), end = offset_of(each, "end", most);
    if (!begin) return fail_in(at, std::move(begin).error());
    if (!end) return fail_in(at, std::move(end).error());
    if (*begin >= *end)
      return fail(Code::kInvalid, "{}: start {} is not before end {}", at, *begin, *end);
    span.begin = starts[*begin];
    span.end = starts[*end];
    out.push_back(std::move(span));
  }
  std::ranges::sort(out, {}, &LabelledSpan::begin);
  for (size_t i = 1; i < out.size(); ++i) {
    if (out[i].begin < out[i - 1].end) {
      return fail(Code::kInvalid, "{}: two spans share bytes {} to {} of the text", form.member,
                  out[i].begin, std::min(out[i].end, out[i - 1].end));
    }
  }
  return out;
}

Result<std::string> label_member(const json::Value& row, std::string_view name) {
  const auto value = row.find(name);
  if (!value) return fail(Code::kInvalid, "{}: missing", name);
  if (value->is_bool() || value->integer()) return std::string(value->raw());
  if (!value->is_string()) {
    return fail(Code::kInvalid, "{}: expected a label, found {}", name,
                json::type_name(value->type()));
  }
  if (value->text().empty()) return fail(Code::kInvalid, "{}: expected a label, found \"\"", name);
  return std::string(value->text());
}

}  // namespace signalbox::tools
