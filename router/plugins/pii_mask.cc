// A string that holds nothing keeps its bytes; one that does is written anew, as is a number, which
// becomes a string. The same goes for JSON in a string, of whose escapes all stay that nothing was
// found in: "\u0061da@example.org" is what the upstream's model reads there, and so do we.

#include "router/plugins/pii_mask.h"

#include <algorithm>
#include <optional>

#include "base/ascii.h"
#include "base/json_writer.h"
#include "router/api/words.h"
#include "router/plugins/json_text.h"

namespace signalbox::router {
namespace {

struct Slot {
  json::Value value;
  std::string_view text;         // where the request's other readers have it, too
  std::optional<JsonText> json;  // of a text that is JSON

  std::string_view read() const { return json ? json->text() : text; }
};

// A label or a name that is changed means something else, and a key cannot be put back.
bool is_maskable(Word::Kind kind) {
  return kind != Word::Kind::kLabel && kind != Word::Kind::kName && kind != Word::Kind::kKey;
}

std::vector<Slot> slots_of(const ChatRequest& request) {
  std::vector<Slot> slots;
  const Hear hear = [&](const Word& word) {
    if (is_maskable(word.kind)) slots.push_back({word.value, word.text, std::nullopt});
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
  for (Slot& slot : slots) {
    if (json_within(slot.text)) slot.json.emplace(slot.text);
  }
  return slots;
}

bool is_wanted(const config::PiiMaskPlugin& plugin, std::string_view type) {
  return plugin.types.empty() ||
         std::any_of(plugin.types.begin(), plugin.types.end(),
                     [&](const std::string& each) { return ascii::upper_case(each) == type; });
}

/// A slot's text with placeholders; nothing where none is needed.
class MaskedText {
 public:
  MaskedText(const Slot& slot, Masks& masks) : slot_(slot), masks_(masks) {}

  void mask(const PiiEntity& entity) {
    if (!slot_.json) return put(entity.type, {entity.begin, entity.end, true});
    for (const JsonText::Part& part : slot_.json->parts(entity.begin, entity.end))
      put(entity.type, part);
  }

  std::optional<std::string> take() {
    if (at_ == 0) return std::nullopt;
    return std::move(text_ += slot_.text.substr(at_));
  }

 private:
  // Two findings may reach into one number.
  void put(std::string_view type, const JsonText::Part& part) {
    const auto [begin, end] = slot_.json ? slot_.json->origin(part.begin, part.end)
                                         : JsonText::Range{part.begin, part.end};
    if (begin < at_) return;
    const std::string& placeholder =
        masks_.of(type, slot_.read().substr(part.begin, part.end - part.begin));
    text_ += slot_.text.substr(at_, begin - at_);
    text_ += part.is_string ? placeholder : json::quote(placeholder);
    at_ = end;
  }

  const Slot& slot_;
  Masks& masks_;
  std::string text_;
  size_t at_ = 0;  // in the slot's text, up to which it is written
};

Result<PiiFound> look(const config::PiiMaskPlugin& plugin, const PiiFinder& finder,
                      const std::vector<std::string_view>& texts, Inputs& inputs) {
  const bool by_rules = plugin.on_error == config::PiiMaskPlugin::OnError::kRules;
  const PiiFinder rules_only{ModelChoice{}};
  if (needs_no_model(plugin)) return rules_only.entities(texts, inputs);
  if (!finder.has_model()) {
    if (by_rules) return rules_only.entities(texts, inputs);
    return fail(Code::kUnsupported, "there is no model that finds personal data");
  }
  Result<PiiFound> found = finder.entities(texts, inputs);
  if (found && !found->whole) found = fail(Code::kTooLarge, "{}", kNotReadWhole);
  if (!found && by_rules) return rules_only.entities(texts, inputs);
  return found;
}

}  // namespace

bool needs_no_model(const config::PiiMaskPlugin& plugin) {
  return !plugin.types.empty() &&
         std::all_of(plugin.types.begin(), plugin.types.end(), [](const std::string& each) {
           return is_checked_pii(ascii::upper_case(each));
         });
}

Result<Masked> mask_request(const config::PiiMaskPlugin& plugin, const PiiFinder& finder,
                            double threshold, Inputs& inputs) {
  const ChatRequest& request = inputs.request();
  const std::string_view source = request.document.source();
  const std::vector<Slot> slots = slots_of(request);
  std::vector<std::string_view> texts;
  for (const Slot& slot : slots) texts.push_back(slot.read());
  SIGNALBOX_TRY(const PiiFound found, look(plugin, finder, texts, inputs));
  Masks masks(source);
  for (const Slot& slot : slots) masks.avoid(slot.read());  // in JSON a bracket may be "\u005b"
  std::vector<Edit> edits;
  for (size_t i = 0; i < slots.size(); ++i) {
    MaskedText text(slots[i], masks);
    for (const PiiEntity& entity : found.in[i]) {
      if (entity.score >= threshold && is_wanted(plugin, entity.type)) text.mask(entity);
    }
    if (const auto masked = text.take())
      edits.push_back({slots[i].value.begin(), slots[i].value.end(), json::quote(*masked)});
  }
  SIGNALBOX_TRY(json::Document body, json::Document::parse(apply(source, std::move(edits))));
  return Masked{std::move(body), masks.take()};
}

}  // namespace signalbox::router
