// A spec becomes a YAML tree like that of the configuration, so that both are processed in the same
// way.

#include "router/kubernetes/resource.h"

#include "base/json.h"
#include "base/json_writer.h"

namespace signalbox::kubernetes {
namespace {

constexpr json::Limits kPageLimits{.bytes = kPageBytesMax, .depth = 64};
constexpr json::Limits kEventLimits{.bytes = kEventBytesMax, .depth = 64};
constexpr size_t kItemsMax = 1000;
/// A Kubernetes name has at most 253 characters. A version is opaque, but in practice a number of
/// at most 20 digits.
constexpr size_t kNameMax = 253, kVersionMax = 256;

yaml::Node tree_of(const json::Value& value) {
  yaml::Node out;
  switch (value.type()) {
    case json::Type::kNull:
      break;
    case json::Type::kString:
      out.kind = yaml::Kind::kScalar;
      out.quoted = true;
      out.scalar = value.text();
      break;
    case json::Type::kBool:
    case json::Type::kNumber:
      out.kind = yaml::Kind::kScalar;
      out.scalar = value.raw();
      break;
    case json::Type::kArray:
      out.kind = yaml::Kind::kSequence;
      for (const json::Value& item : value.items()) out.items.push_back(tree_of(item));
      break;
    case json::Type::kObject:
      out.kind = yaml::Kind::kMapping;
      for (const json::Member& member : value.members()) {
        if (out.find(member.key) == nullptr)
          out.entries.push_back({std::string(member.key), 0, 0, tree_of(member.value)});
      }
      break;
  }
  return out;
}

std::string text_at(const json::Value& object, std::string_view key, size_t most) {
  const auto value = object.find(key);
  if (!value || !value->is_string()) return {};
  return std::string(value->text().substr(0, most));
}

int64_t number_at(const json::Value& object, std::string_view key) {
  const auto value = object.find(key);
  const auto number = value ? value->integer() : Result<int64_t>(0);
  return number.value_or(0);
}

Condition ready_of(const json::Value& object) {
  Condition out;
  const auto status = object.find("status");
  const auto all = status ? status->find("conditions") : std::nullopt;
  if (!all) return out;
  for (const json::Value& each : all->items()) {
    if (text_at(each, "type", kNameMax) != "Ready") continue;
    out.is_there = true;
    out.status = text_at(each, "status", kNameMax);
    out.reason = text_at(each, "reason", kNameMax);
    out.message = text_at(each, "message", SIZE_MAX);
    out.generation = number_at(each, "observedGeneration");
  }
  return out;
}

Result<Resource> resource_of(const json::Value& object) {
  const auto metadata = object.find("metadata");
  if (!metadata) return fail(Code::kInvalid, "a resource has no metadata");
  Resource out;
  out.name = text_at(*metadata, "name", kNameMax);
  if (out.name.empty()) return fail(Code::kInvalid, "a resource has no name");
  out.generation = number_at(*metadata, "generation");
  if (const auto spec = object.find("spec")) out.spec = tree_of(*spec);
  out.ready = ready_of(object);
  return out;
}

Happened happened_of(std::string_view type, bool& is_known) {
  is_known = true;
  if (type == "ADDED" || type == "MODIFIED") return Happened::kSet;
  if (type == "DELETED") return Happened::kGone;
  if (type == "BOOKMARK") return Happened::kBookmark;
  is_known = type == "ERROR";
  return Happened::kError;
}

}  // namespace

Result<Page> read_page(std::string body) {
  SIGNALBOX_TRY(const json::Document document, json::Document::parse(std::move(body), kPageLimits));
  const json::Value root = document.root();
  const auto metadata = root.find("metadata"), items = root.find("items");
  if (!metadata || !items || !items->is_array())
    return fail(Code::kInvalid, "expected a list with metadata and items");
  Page out;
  out.version = text_at(*metadata, "resourceVersion", kVersionMax);
  out.more = text_at(*metadata, "continue", SIZE_MAX);
  if (out.version.empty()) return fail(Code::kInvalid, "a list has no resourceVersion");
  for (const json::Value& item : items->items()) {
    if (out.items.size() == kItemsMax)
      return fail(Code::kTooLarge, "a list has more than {} items", kItemsMax);
    SIGNALBOX_TRY(Resource resource, resource_of(item));
    out.items.push_back(std::move(resource));
  }
  return out;
}

Result<Event> read_event(std::string line) {
  SIGNALBOX_TRY(const json::Document document,
                json::Document::parse(std::move(line), kEventLimits));
  const json::Value root = document.root();
  const std::string type = text_at(root, "type", kNameMax);
  const auto object = root.find("object");
  Event out;
  bool is_known = false;
  out.what = happened_of(type, is_known);
  if (!is_known) return fail(Code::kInvalid, "unknown event type {}", json::quote_briefly(type));
  if (!object || !object->is_object()) return fail(Code::kInvalid, "an event has no object");
  if (out.what == Happened::kError) {
    out.code = number_at(*object, "code");
    out.message = text_at(*object, "message", kEventBytesMax);
    return out;
  }
  const auto metadata = object->find("metadata");
  if (metadata) out.version = text_at(*metadata, "resourceVersion", kVersionMax);
  if (out.version.empty()) return fail(Code::kInvalid, "an event has no resourceVersion");
  if (out.what == Happened::kBookmark) return out;
  SIGNALBOX_TRY(out.resource, resource_of(*object));
  return out;
}

}  // namespace signalbox::kubernetes
