// Writes the sections in the form in which Hugging Face's library saves them.

#include "tools/vocabulary/hf_sections.h"

#include <algorithm>

namespace signalbox::tools {
namespace {

void write_template(const std::vector<HfMarks::Item>& items, json::Writer& out) {
  std::string_view text = "A";
  out.begin_array();
  for (const HfMarks::Item& item : items) {
    const bool is_text = item.mark.empty();
    out.begin_object().key(is_text ? "Sequence" : "SpecialToken").begin_object();
    out.member("id", is_text ? text : std::string_view(item.mark));
    out.member("type_id", item.type_id).end_object().end_object();
    if (is_text) text = "B";
  }
  out.end_array();
}

std::vector<std::string_view> distinct_marks(const HfMarks& marks) {
  std::vector<std::string_view> out;
  for (const auto* items : {&marks.single, &marks.pair}) {
    for (const HfMarks::Item& item : *items) {
      if (!item.mark.empty() && std::ranges::find(out, item.mark) == out.end())
        out.emplace_back(item.mark);
    }
  }
  return out;
}

}  // namespace

void write_added_tokens(std::span<const HfAddedToken> tokens, json::Writer& out) {
  out.key("added_tokens").begin_array();
  for (const HfAddedToken& token : tokens) {
    out.begin_object().member("id", token.id).member("content", token.content);
    out.member("single_word", token.single_word).member("lstrip", token.lstrip);
    out.member("rstrip", token.rstrip).member("normalized", token.normalized);
    out.member("special", token.special).end_object();
  }
  out.end_array();
}

HfMarks HfMarks::of_bert(std::string_view begin, std::string_view end) {
  const std::string first(begin), last(end);
  return {.single = {{first}, {""}, {last}}, .pair = {{first}, {""}, {last}, {"", 1}, {last, 1}}};
}

HfMarks HfMarks::of_roberta(std::string_view begin, std::string_view end) {
  const std::string first(begin), last(end);
  return {.single = {{first}, {""}, {last}}, .pair = {{first}, {""}, {last}, {last}, {""}, {last}}};
}

HfMarks HfMarks::of_decoder(std::string_view begin, std::string_view end) {
  HfMarks marks;
  const auto add = [&](std::vector<Item>& items, int type_id) {
    if (!begin.empty()) items.push_back({std::string(begin), type_id});
    items.push_back({"", type_id});
    if (!end.empty()) items.push_back({std::string(end), type_id});
  };
  add(marks.single, 0);
  add(marks.pair, 0);
  add(marks.pair, 1);
  return marks;
}

void write_template_processing(const HfMarks& marks,
                               const std::function<int64_t(std::string_view)>& id_of,
                               json::Writer& out) {
  out.begin_object().member("type", "TemplateProcessing").key("single");
  write_template(marks.single, out);
  out.key("pair");
  write_template(marks.pair, out);
  out.key("special_tokens").begin_object();
  for (const std::string_view mark : distinct_marks(marks)) {
    out.key(mark).begin_object().member("id", mark);
    out.key("ids").begin_array().integer(id_of(mark)).end_array();
    out.key("tokens").begin_array().string(mark).end_array().end_object();
  }
  out.end_object().end_object();
}

void write_replace(std::string_view kind, std::string_view pattern, std::string_view content,
                   json::Writer& out) {
  out.begin_object().member("type", "Replace").key("pattern").begin_object();
  out.member(kind, pattern).end_object().member("content", content).end_object();
}

void write_component(std::string_view type, json::Writer& out) {
  out.begin_object().member("type", type).end_object();
}

}  // namespace signalbox::tools
