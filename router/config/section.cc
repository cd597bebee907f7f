// Walks tables of keys: the part that is the same for every struct.

#include "router/config/section.h"

#include <algorithm>

namespace signalbox::config {
namespace {

// The entry of a field under its key or one of its other names; two of them are an error.
const yaml::Entry* find_entry(Reader& reader, const yaml::Node& node, const AnyField& field) {
  const yaml::Entry* found = nullptr;
  for (const yaml::Entry& entry : node.entries) {
    const auto& others = field.aliases;
    if (entry.key != field.key &&
        std::find(others.begin(), others.end(), entry.key) == others.end())
      continue;
    if (found != nullptr) {
      reader.error(entry.line, fmt::format("\"{}\" and \"{}\" are the same; expected one of them",
                                           found->key, entry.key));
    }
    found = &entry;
  }
  return found;
}

void read_field(Reader& reader, const yaml::Node& node, const AnyField& field, void* out) {
  const yaml::Entry* entry = find_entry(reader, node, field);
  reader.at_key(entry == nullptr ? field.key : std::string_view(entry->key), [&] {
    if (entry == nullptr) {
      if (field.presence == Presence::kRequired)
        reader.error(node.line, fmt::format("missing; expected {}", field.value.expected));
      return;
    }
    const yaml::Node& value = entry->value;
    if (field.presence == Presence::kRemoved)
      return reader.error(entry->line, fmt::format("no longer a key; {}", field.doc));
    if (field.presence == Presence::kRemark) return;
    if (field.presence == Presence::kOptional && value.kind == yaml::Kind::kNull) return;
    if (field.consequence.empty()) return field.value.read_into(reader, value, out);
    if (!is_idle(value)) reader.not_built(value.line, field.consequence);
    reader.in_not_built([&] { field.value.read_into(reader, value, out); });
  });
}

void describe_field(Schema& schema, std::string_view key, const AnyField& field) {
  schema.nested(key, [&] {
    schema.at_key(field.key, [&] {
      if (field.value.describe) field.value.describe(schema);
    });
    std::string doc(field.doc);
    if (!field.consequence.empty()) doc += "; not built yet: " + field.consequence;
    if (key != field.key) schema.out().member("deprecated", true);
    schema.out().member("description", doc);
  });
}

}  // namespace

AnyValue::AnyValue() = default;
AnyValue::AnyValue(std::string expects, ReadInto read, Describe describes)
    : expected(std::move(expects)), read_into(std::move(read)), describe(std::move(describes)) {}
AnyValue::AnyValue(const AnyValue&) = default;
AnyValue::AnyValue(AnyValue&&) noexcept = default;
AnyValue& AnyValue::operator=(const AnyValue&) = default;
AnyValue& AnyValue::operator=(AnyValue&&) noexcept = default;
AnyValue::~AnyValue() = default;

AnyField::AnyField(std::string_view name, Presence how, AnyValue what, std::string_view why)
    : key(name), presence(how), value(std::move(what)), doc(why) {}
AnyField::AnyField(const AnyField&) = default;
AnyField::AnyField(AnyField&&) noexcept = default;
AnyField& AnyField::operator=(const AnyField&) = default;
AnyField& AnyField::operator=(AnyField&&) noexcept = default;
AnyField::~AnyField() = default;

AnySection::AnySection(const AnySection&) = default;
AnySection::AnySection(AnySection&&) noexcept = default;
AnySection::~AnySection() = default;

void read_section(Reader& reader, const yaml::Node& node, const AnySection& section, void* out) {
  if (node.kind != yaml::Kind::kMapping && node.kind != yaml::Kind::kNull) {
    return reader.expected(node, "a mapping");
  }
  std::vector<std::string_view> keys;  // what a message may suggest
  std::vector<std::string_view> all;   // and what else is understood
  for (const AnyField& field : section.fields) {
    if (field.presence != Presence::kRemoved) keys.push_back(field.key);
    all.push_back(field.key);
    all.insert(all.end(), field.aliases.begin(), field.aliases.end());
    read_field(reader, node, field, out);
  }
  for (const yaml::Entry& entry : node.entries) {
    if (std::find(all.begin(), all.end(), entry.key) == all.end()) {
      reader.unknown_key(entry, keys);
    }
  }
  if (section.check) section.check(reader, node, out);
}

void describe_section(Schema& schema, const AnySection& section) {
  schema.type({"object"});
  schema.out().member("additionalProperties", false);
  schema.nested("properties", [&] {
    for (const AnyField& field : section.fields) {
      if (field.presence == Presence::kRemoved) continue;
      describe_field(schema, field.key, field);
      for (const std::string_view other : field.aliases) describe_field(schema, other, field);
    }
  });
  schema.out().key("required").begin_array();
  for (const AnyField& field : section.fields) {
    if (field.presence == Presence::kRequired && field.aliases.empty())
      schema.out().string(field.key);
  }
  schema.out().end_array();
}

}  // namespace signalbox::config
