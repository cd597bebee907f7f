// A string that holds nothing keeps its bytes; one that does is written anew, as is a number, which
// becomes a string.

#include "router/plugins/pii_mask.h"

#include <algorithm>

#include "base/json_writer.h"
#include "router/api/words.h"

namespace signalbox::router {
namespace {

struct Slot {
  json::Value value;
  std::string_view text;  // where the request's other readers have it, too
  bool is_arguments;      // JSON in a string
};

// A label or a name that is changed means something else, and a key cannot be put back.
bool is_maskable(Word::Kind kind) {
  return kind != Word::Kind::kLabel && kind != Word::Kind::kName && kind != Word::Kind::kKey;
}

std::vector<Slot> slots_of(const ChatRequest& request) {
  std::vector<Slot> slots;
  const Hear hear = [&](const Word& word) {
    if (is_maskable(word.kind))
      slots.push_back({word.value, word.text, word.kind == Word::Kind::kArguments});
  };
  const json::Value root = request.document.root();
  size_t index = 0;
  for (const json::Value& message : root.find("messages")->items()) {
    const size_t first = slots.size();
    each_word_of_message(message, hear);
    // The text as the signals have it: a model that has read it there does not read it again.
    const std::string& text = request.messages[index++].text;
    const auto content = message.find("content");
    if (!content || !content->is_string()) continue;
    for (size_t i = first; i < slots.size(); ++i) {
      if (slots[i].value.begin() == content->begin()) slots[i].text = text;
    }
  }
  for (const json::Member& member : root.members()) {
    if (place_of(member.key) == Place::kAttachment)
      each_word(member.value, Place::kAttachment, hear);
  }
  return slots;
}

bool is_wanted(const config::PiiMaskPlugin& plugin, std::string_view type) {
  return plugin.types.empty() ||
         std::any_of(plugin.types.begin(), plugin.types.end(),
                     [&](const std::string& each) { return upper_ascii(each) == type; });
}

// Whether it stands in JSON as a number does, so that a placeholder needs quotes of its own.
bool is_bare(std::string_view json, const PiiEntity& entity) {
  size_t before = entity.begin;
  while (before > 0 && (json[before - 1] == ' ' || json[before - 1] == '\n')) --before;
  const bool opens =
      before > 0 && std::string_view(":,[").find(json[before - 1]) != std::string_view::npos;
  size_t behind = entity.end;
  while (behind < json.size() && (json[behind] == ' ' || json[behind] == '\n')) ++behind;
  const bool closes =
      behind < json.size() && std::string_view(",]}").find(json[behind]) != std::string_view::npos;
  const std::string_view value = json.substr(entity.begin, entity.end - entity.begin);
  return opens && closes &&
         std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Result<PiiFound> look(const config::PiiMaskPlugin& plugin, const PiiFinder& finder,
                      const std::vector<std::string_view>& texts, Inputs& inputs) {
  const bool by_rules = plugin.on_error == config::PiiMaskPlugin::OnError::kRules;
  const PiiFinder rules_only{ModelChoice{}};
  if (!finder.has_model()) {
    if (by_rules || needs_no_model(plugin)) return rules_only.entities(texts, inputs);
    return fail(Code::kUnsupported, "there is no model that finds personal data");
  }
  Result<PiiFound> found = finder.entities(texts, inputs);
  if (found && !found->whole)
    found = fail(Code::kTooLarge, "the request is too long to be looked at whole");
  if (!found && by_rules) return rules_only.entities(texts, inputs);
  return found;
}

}  // namespace

bool needs_no_model(const config::PiiMaskPlugin& plugin) {
  return !plugin.types.empty() &&
         std::all_of(plugin.types.begin(), plugin.types.end(),
                     [](const std::string& each) { return is_checked_pii(upper_ascii(each)); });
}

Result<Masked> mask_request(const config::PiiMaskPlugin& plugin, const PiiFinder& finder,
                            double threshold, Inputs& inputs) {
  const ChatRequest& request = inputs.request();
  const std::string_view source = request.document.source();
  const std::vector<Slot> slots = slots_of(request);
  std::vector<std::string_view> texts;
  for (const Slot& slot : slots) texts.push_back(slot.text);
  SIGNALBOX_TRY(const PiiFound found, look(plugin, finder, texts, inputs));
  Masks masks(source);
  for (const Slot& slot : slots) masks.avoid(slot.text);  // in JSON a bracket may be "\u005b"
  std::vector<Edit> edits;
  for (size_t i = 0; i < slots.size(); ++i) {
    std::string text;
    size_t at = 0;
    for (const PiiEntity& entity : found.in[i]) {
      if (entity.score < threshold || !is_wanted(plugin, entity.type)) continue;
      const std::string_view value = texts[i].substr(entity.begin, entity.end - entity.begin);
      const std::string& placeholder = masks.of(entity.type, value);
      const bool quotes = slots[i].is_arguments && is_bare(texts[i], entity);
      text += texts[i].substr(at, entity.begin - at);
      text += quotes ? json::quote(placeholder) : placeholder;
      at = entity.end;
    }
    if (at == 0) continue;
    text += texts[i].substr(at);
    edits.push_back({slots[i].value.begin(), slots[i].value.end(), json::quote(text)});
  }
  SIGNALBOX_TRY(json::Document body, json::Document::parse(apply(source, std::move(edits))));
  return Masked{std::move(body), masks.take()};
}

}  // namespace signalbox::router
