// A string without personal data keeps its bytes. A string with personal data is re-encoded, and a
// number with personal data becomes a string. The same holds for JSON inside a string: all of its
// escapes stay, except where personal data was found. The search reads text with escapes resolved,
// as the upstream's model does: "\u0061da@example.org" is an e-mail address.

#include "router/plugins/pii/pii_mask.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "base/ascii.h"
#include "base/json_writer.h"
#include "router/request/json_text.h"
#include "router/request/request_text.h"
#include "router/safety/pii/merge.h"

namespace signalbox::plugins {
namespace {

struct Slot {
  json::Value value;
  std::string_view text;                  // the same bytes that other readers of the request use
  std::optional<request::JsonText> json;  // set if the text is JSON
  bool by_rules = false;                  // no model reads it, so none searches it

  std::string_view read() const { return json ? json->text() : text; }
};

request::VisitText add_to(std::vector<Slot>& slots, bool by_rules) {
  return [&slots, by_rules](const request::TextPiece& piece) {
    if (!request::is_maskable(piece.kind)) return;
    Slot& slot = slots.emplace_back(Slot{piece.value, piece.text, std::nullopt, by_rules});
    if (request::json_within(slot.text)) slot.json.emplace(slot.text);
  };
}

std::vector<Slot> slots_of(const request::ChatRequest& request) {
  std::vector<Slot> slots;
  const request::VisitText visit = add_to(slots, false);
  const json::Value root = request.document.root();
  for (const json::Value& message : root.find("messages")->items())
    request::visit_message_text(message, visit);
  for (const json::Member& member : root.members()) {
    const auto place = request::place_of(member.key);
    if (place && place != request::Place::kSent) request::visit_text(member.value, *place, visit);
  }
  request::visit_sent_text(root, add_to(slots, true));
  return slots;
}

std::vector<Slot> slots_of(const request::NativeRequest& request) {
  std::vector<Slot> slots;
  request::visit_native_text(request, add_to(slots, false));
  request::visit_sent_text(request.document.root(), add_to(slots, true));
  return slots;
}

/// Builds a slot's text with placeholders; nullopt if it needs none.
class MaskedText {
 public:
  MaskedText(const Slot& slot, pii::Masks& masks) : slot_(slot), masks_(masks) {}

  void mask(const pii::PiiEntity& entity) {
    if (!slot_.json) return put(entity.type, {entity.begin, entity.end, true});
    for (const request::JsonText::Part& part : slot_.json->parts(entity.begin, entity.end))
      put(entity.type, part);
  }

  std::optional<std::string> take() {
    if (copied_ == 0) return std::nullopt;
    return std::move(text_ += slot_.text.substr(copied_));
  }

 private:
  // Two entities may overlap one number, which is replaced once.
  void put(std::string_view type, const request::JsonText::Part& part) {
    const auto [begin, end] = slot_.json ? slot_.json->origin(part.begin, part.end)
                                         : request::JsonText::Range{part.begin, part.end};
    if (begin < copied_) return;
    const std::string& placeholder =
        masks_.of(type, slot_.read().substr(part.begin, part.end - part.begin));
    text_ += slot_.text.substr(copied_, begin - copied_);
    text_ += part.is_string ? placeholder : json::quote(placeholder);
    copied_ = end;
  }

  const Slot& slot_;
  pii::Masks& masks_;
  std::string text_;
  size_t copied_ = 0;  // the slot's text is copied up to here
};

Result<signals::PiiFound> find_entities(const config::PiiMaskPlugin& plugin,
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

/// The entities of each slot, in the order of the slots.
Result<std::vector<std::vector<pii::PiiEntity>>> find_in(const config::PiiMaskPlugin& plugin,
                                                         const signals::PiiFinder& finder,
                                                         const std::vector<Slot>& slots,
                                                         signals::Inputs& inputs) {
  std::vector<std::string_view> read, sent;
  for (const Slot& slot : slots) (slot.by_rules ? sent : read).push_back(slot.read());
  SIGNALBOX_TRY(signals::PiiFound in_read, find_entities(plugin, finder, read, inputs));
  const signals::PiiFinder rules_only{signals::ModelChoice{}};
  SIGNALBOX_TRY(signals::PiiFound in_sent, rules_only.entities(sent, inputs));
  std::vector<std::vector<pii::PiiEntity>> out;
  size_t next_read = 0, next_sent = 0;
  for (const Slot& slot : slots)
    out.push_back(std::move(slot.by_rules ? in_sent.in[next_sent++] : in_read.in[next_read++]));
  return out;
}

/// The number before the first placeholder of each type. What a server makes of a compacted
/// conversation keeps its placeholders, so they must not be those of a later request, which begin
/// with 1 and would stand for other data.
size_t number_before(const request::ChatRequest& request) {
  constexpr size_t kApart = 1'000'000;
  if (!request.native || !request.native->is_compacted) return 0;
  return kApart + std::hash<std::string_view>()(request.native->document.source()) % kApart;
}

/// Adds the two parts of data that is split over two texts. Data that begins or ends with a finding
/// of its type in one text is complete there, whatever the other text adds to it.
void add_split(std::string_view first, std::string_view second,
               std::vector<pii::PiiEntity>& in_first, std::vector<pii::PiiEntity>& in_second) {
  const auto has = [](const std::vector<pii::PiiEntity>& found, const pii::PiiEntity& split,
                      size_t pii::PiiEntity::*edge) {
    return std::any_of(found.begin(), found.end(), [&](const pii::PiiEntity& each) {
      return each.type == split.type && each.*edge == split.*edge;
    });
  };
  for (const pii::PiiEntity& split : signals::split_entities(first, second)) {
    if (has(in_first, split, &pii::PiiEntity::begin) || has(in_second, split, &pii::PiiEntity::end))
      continue;
    pii::PiiEntity head = split, tail = split;
    head.end = first.size();
    tail.begin = 0;
    in_first = pii::with_covering(std::move(in_first), {head});
    in_second = pii::with_covering(std::move(in_second), {tail});
  }
}

Result<json::Document> masked_document(const json::Document& document,
                                       std::vector<splice::Edit> edits) {
  return json::Document::parse(splice::apply(document.source(), std::move(edits)));
}

}  // namespace

bool masks_type(const config::PiiMaskPlugin& plugin, std::string_view type) {
  return plugin.types.empty() ||
         std::any_of(plugin.types.begin(), plugin.types.end(),
                     [&](const std::string& each) { return ascii::upper_case(each) == type; });
}

bool needs_no_model(const config::PiiMaskPlugin& plugin) {
  return !plugin.types.empty() &&
         std::all_of(plugin.types.begin(), plugin.types.end(), [](const std::string& each) {
           return pii::is_checked_pii(ascii::upper_case(each));
         });
}

Result<Masked> mask_request(const config::PiiMaskPlugin& plugin, const signals::PiiFinder& finder,
                            double threshold, signals::Inputs& inputs) {
  const request::ChatRequest& request = inputs.request();
  std::vector<Slot> slots = slots_of(request);
  const size_t chat_slots = slots.size();  // those of the native form follow
  if (request.native) {
    for (Slot& slot : slots_of(*request.native)) slots.push_back(std::move(slot));
  }
  SIGNALBOX_TRY(auto found, find_in(plugin, finder, slots, inputs));
  for (size_t i = 1; i < slots.size(); ++i) {
    if (i != chat_slots) add_split(slots[i - 1].read(), slots[i].read(), found[i - 1], found[i]);
  }
  pii::Masks masks(request.document.source(), number_before(request));
  for (const Slot& slot : slots) masks.avoid(slot.read());  // in JSON, a bracket may be "\u005b"
  std::vector<splice::Edit> edits, native_edits;
  for (size_t i = 0; i < slots.size(); ++i) {
    MaskedText text(slots[i], masks);
    for (const pii::PiiEntity& entity : found[i]) {
      if (entity.score >= threshold && masks_type(plugin, entity.type)) text.mask(entity);
    }
    if (const auto masked = text.take()) {
      (i < chat_slots ? edits : native_edits)
          .push_back({slots[i].value.begin(), slots[i].value.end(), json::quote(*masked)});
    }
  }
  SIGNALBOX_TRY(json::Document body, masked_document(request.document, std::move(edits)));
  Masked out{std::move(body), std::nullopt, {}};
  if (request.native) {
    SIGNALBOX_TRY(json::Document native,
                  masked_document(request.native->document, std::move(native_edits)));
    out.native.emplace(request::NativeRequest{request.native->api, std::move(native)});
  }
  out.masks = masks.take();
  return out;
}

}  // namespace signalbox::plugins
