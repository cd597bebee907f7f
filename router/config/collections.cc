// Lists and mappings of scalars, and nodes that are passed on as they are.

#include <charconv>

#include "base/json.h"
#include "base/json_writer.h"
#include "router/config/scalars.h"

namespace signalbox::config {
namespace {

// Runs read(name, value) for each entry.
template <class Read>
void for_each_entry(Reader& reader, const yaml::Node& node, std::string_view expected,
                    const Read& read) {
  if (node.kind == yaml::Kind::kNull) return;
  if (node.kind != yaml::Kind::kMapping) return reader.expected(node, expected);
  for (const yaml::Entry& entry : node.entries) {
    reader.at_key(entry.key, [&] { read(entry.key, entry.value); });
  }
}

constexpr double kNumberMax = 1e9;
constexpr std::string_view kNumber = "a number";

void write_scalar(const yaml::Node& node, json::Writer& out) {
  const std::string& text = node.scalar;
  if (!node.quoted && (text == "true" || text == "false")) {
    out.boolean(text == "true");
  } else if (!node.quoted && json::is_number_token(text)) {
    out.raw(text);
  } else {
    out.string(text);
  }
}

void write_node(const yaml::Node& node, json::Writer& out) {
  switch (node.kind) {
    case yaml::Kind::kNull:
      out.null();
      return;
    case yaml::Kind::kScalar:
      return write_scalar(node, out);
    case yaml::Kind::kSequence:
      out.begin_array();
      for (const yaml::Node& item : node.items) write_node(item, out);
      out.end_array();
      return;
    case yaml::Kind::kMapping:
      out.begin_object();
      for (const yaml::Entry& entry : node.entries) write_node(entry.value, out.key(entry.key));
      out.end_object();
      return;
  }
}

}  // namespace

void read_texts(Reader& reader, const yaml::Node& node, std::vector<std::string>& out) {
  if (node.kind == yaml::Kind::kNull) return;
  if (node.kind != yaml::Kind::kSequence) return reader.expected(node, "a list of strings");
  for (size_t i = 0; i < node.items.size(); ++i) {
    reader.at_index(i, [&] {
      std::string item;
      read_text(reader, node.items[i], item);
      if (!item.empty()) out.push_back(std::move(item));
    });
  }
}

void read_numbers(Reader& reader, const yaml::Node& node, std::vector<double>& out) {
  if (node.kind == yaml::Kind::kNull) return;
  if (node.kind != yaml::Kind::kSequence) return reader.expected(node, "a list of numbers");
  for (size_t i = 0; i < node.items.size(); ++i) {
    reader.at_index(i, [&] {
      double item = 0;
      if (read_number(reader, node.items[i], kNumber, -kNumberMax, kNumberMax, item))
        out.push_back(item);
    });
  }
}

void read_text_map(Reader& reader, const yaml::Node& node,
                   std::map<std::string, std::string>& out) {
  for_each_entry(reader, node, "a mapping from names to strings",
                 [&](const std::string& name, const yaml::Node& value) {
                   if (value.kind == yaml::Kind::kNull) return;
                   if (auto scalar = reader.scalar(value, "a string"))
                     out[name] = std::move(scalar->text);
                 });
}

void read_number_map(Reader& reader, const yaml::Node& node, std::map<std::string, double>& out) {
  for_each_entry(reader, node, "a mapping from names to numbers",
                 [&](const std::string& name, const yaml::Node& value) {
                   read_number(reader, value, kNumber, -kNumberMax, kNumberMax, out[name]);
                 });
}

void read_texts_map(Reader& reader, const yaml::Node& node,
                    std::map<std::string, std::vector<std::string>>& out) {
  for_each_entry(reader, node, "a mapping from names to lists of strings",
                 [&](const std::string& name, const yaml::Node& value) {
                   read_texts(reader, value, out[name]);
                 });
}

std::string to_json(const yaml::Node& node) {
  json::Writer out;
  write_node(node, out);
  return out.take();
}

}  // namespace signalbox::config
