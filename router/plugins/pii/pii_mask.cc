// A string that holds nothing keeps its bytes; one that does is written anew, as is a number, which
// becomes a string. The same goes for JSON in a string, of whose escapes all stay that nothing was
// found in: "\u0061da@example.org" is what the upstream's model reads there, and so do we.

#include "router/plugins/pii/pii_mask.h"

#include <algorithm>
#include <optional>

#include "base/ascii.h"
#include "base/json_writer.h"
#include "router/request/json_text.h"
#include "router/request/request_text.h"

namespace signalbox::plugins {
namespace {

struct Slot {
  json::Value value;
  std::string_view text;                  // where the request's other readers have it, too
  std::optional<request::JsonText> json;  // of a text that is JSON

  std::string_view read() const { return json ? json->text() : text; }
};

// A label or a name that is changed means something else, and a key cannot be put back.
bool is_maskable(request::Word::Kind kind) {
  return kind != request::Word::Kind::kLabel && kind != request::Word::Kind::kName &&
         kind != request::Word::Kind::kKey;
}

std::vector<Slot> slots_of(const request::ChatRequest& request) {
  std::vector<Slot> slots;
  const request::Hear hear = [&](const request::Word& word) {
    if (is_maskable(word.kind)) slots.push_back({word.value, word.text, std::nullopt});
  };
  const json::Value root = request.document.root();
  size_t index = 0;
  for (const json::Value& message : root.find("messages")->items()) {
    const size_t first = slots.size();
    request::each_word_of_message(message, hear);
    // The text as the signals have it: a model that has read it there does not read it again.
    const std::string& text = request.messages[index++].text;
    const auto content = message.find("content");
    if (!content || !content->is_string()) continue;
    for (size_t i = first; i < slots.size(); ++i) {
      if (slots[i].value.begin() == content->begin()) slots[i].text = text;
    }
  }
  for (const json::Member& member : root.members()) {
    if (request::place_of(member.key) == request::Place::kAttachment)
      request::each_word(member.value, request::Place::kAttachment, hear);
  }
  for (Slot& slot : slots) {
    if (request::json_within(slot.text)) slot.json.emplace(slot.text);
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
  MaskedText(const Slot& slot, pii::Masks& masks) : slot_(slot), masks_(masks) {}

  void mask(const pii::PiiEntity& entity) {
    if (!slot_.json) return put(entity.type, {entity.begin, entity.end, true});
    for (const request::JsonText::Part& part : slot_.json->parts(entity.begin, entity.end))
      put(entity.type, part);
  }

  std::optional<std::string> take() {
    if (at_ == 0) return std::nullopt;
    return std::move(text_ += slot_.text.substr(at_));
  }

 private:
  // Two findings may reach into one number.
  void put(std::string_view type, const request::JsonText::Part& part) {
    const auto [begin, end] = slot_.json ? slot_.json->origin(part.begin, part.end)
                                         : request::JsonText::Range{part.begin, part.end};
    if (begin < at_) return;
    const std::string& placeholder =
        masks_.of(type, slot_.read().substr(part.begin, part.end - part.begin));
    text_ += slot_.text.substr(at_, begin - at_);
    text_ += part.is_string ? placeholder : json::quote(placeholder);
    at_ = end;
  }

  const Slot& slot_;
  pii::Masks& masks_;
  std::string text_;
  size_t at_ = 0;  // in the slot's text, up to which it is written
};

Result<signals::PiiFound> look(const config::PiiMaskPlugin& plugin,
                               const signals::PiiFinder& finder,
                               const std::vector<std::string_view>& texts,
                               signals::Inputs& inputs) {
  const bool by_rules = plugin.on_error == config::PiiMaskPlugin::OnError::kRules;
  const signals::PiiFinder rules_only{signals::ModelChoice{}};
  if (needs_no_model(plugin)) return rules_only.entities(texts, inputs);
  if (!finder.has_model()) {
    if (by_rules) return rules_only.entities(texts, inputs);
    return fail(Code::kUnsupported, "there is no model that finds personal data");
  }
  Result<signals::PiiFound> found = finder.entities(texts, inputs);
  if (found && !found->whole) found = fail(Code::kTooLarge, "{}", signals::kNotReadWhole);
  if (!found && by_rules) return rules_only.entities(texts, inputs);
  return found;
}

}  // namespace

bool needs_no_model(const config::PiiMaskPlugin& plugin) {
  return !plugin.types.empty() &&
         std::all_of(plugin.types.begin(), plugin.types.end(), [](const std::string& each) {
           return pii::is_checked_pii(ascii::upper_case(each));
         });
}

Result<Masked> mask_request(const config::PiiMaskPlugin& plugin, const signals::PiiFinder& finder,
                            double threshold, signals::Inputs& inputs) {
  const request::ChatRequest& request = inputs.request();
  const std::string_view source = request.document.source();
  const std::vector<Slot> slots = slots_of(request);
  std::vector<std::string_view> texts;
  for (const Slot& slot : slots) texts.push_back(slot.read());
  SIGNALBOX_TRY(const signals::PiiFound found, look(plugin, finder, texts, inputs));
  pii::Masks masks(source);
  for (const Slot& slot : slots) masks.avoid(slot.read());  // in JSON a bracket may be "\u005b"
  std::vector<splice::Edit> edits;
  for (size_t i = 0; i < slots.size(); ++i) {
    MaskedText text(slots[i], masks);
    for (const pii::PiiEntity& entity : found.in[i]) {
      if (entity.score >= threshold && is_wanted(plugin, entity.type)) text.mask(entity);
    }
    if (const auto masked = text.take())
      edits.push_back({slots[i].value.begin(), slots[i].value.end(), json::quote(*masked)});
  }
  SIGNALBOX_TRY(json::Document body,
                json::Document::parse(splice::apply(source, std::move(edits))));
  return Masked{std::move(body), masks.take()};
}

}  // namespace signalbox::plugins
