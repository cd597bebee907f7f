// Numbers keep their bytes on both ways, as json::Value and yaml::Node have them.

#include "router/config/json_tree.h"

#include "base/json_writer.h"

namespace signalbox::config {
namespace {

using yaml::Node;

void write_json(const Node& node, json::Writer& out) {
  switch (node.kind) {
    case yaml::Kind::kNull:
      out.null();
      return;
    case yaml::Kind::kSequence:
      out.begin_array();
      for (const Node& item : node.items) write_json(item, out);
      out.end_array();
      return;
    case yaml::Kind::kMapping:
      out.begin_object();
      for (const yaml::Entry& entry : node.entries) write_json(entry.value, out.key(entry.key));
      out.end_object();
      return;
    case yaml::Kind::kScalar:
      break;
  }
  const std::string& text = node.scalar;
  if (!node.quoted && (text == "true" || text == "True" || text == "TRUE")) {
    out.boolean(true);
  } else if (!node.quoted && (text == "false" || text == "False" || text == "FALSE")) {
    out.boolean(false);
  } else if (!node.quoted && json::is_number_token(text)) {
    out.raw(text);
  } else {
    out.string(text);
  }
}

}  // namespace

Result<Node> from_json(const json::Value& value, std::string_view name) {
  Node node;
  node.line = 1;
  switch (value.type()) {
    case json::Type::kNull:
      return node;
    case json::Type::kArray:
      node.kind = yaml::Kind::kSequence;
      for (const json::Value item : value.items()) {
        SIGNALBOX_TRY(Node made, from_json(item, name));
        node.items.push_back(std::move(made));
      }
      return node;
    case json::Type::kObject:
      node.kind = yaml::Kind::kMapping;
      for (const json::Member member : value.members()) {
        if (node.find(member.key) != nullptr)
          return fail(Code::kInvalid, "{}: the key \"{}\" is given twice", name, member.key);
        SIGNALBOX_TRY(Node made, from_json(member.value, name));
        node.entries.push_back({std::string(member.key), 1, 1, std::move(made)});
      }
      return node;
    case json::Type::kString:
      node.quoted = true;
      node.scalar = value.text();
      break;
    case json::Type::kBool:
    case json::Type::kNumber:
      node.scalar = value.raw();
      break;
  }
  node.kind = yaml::Kind::kScalar;
  return node;
}

std::string json_of(const Node& node) {
  json::Writer out;
  write_json(node, out);
  return out.take();
}

}  // namespace signalbox::config
