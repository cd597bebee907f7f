// The JSON document keeps source ranges, so a definition keeps its original bytes.

#include "router/plugins/tools/database.h"

#include <algorithm>
#include <unordered_set>

#include "base/json.h"
#include "base/json_writer.h"
#include "base/mapped_file.h"

namespace signalbox::plugins {
namespace {

using json::Value;

Result<std::string> text_of(const Value& object, std::string_view key) {
  const auto found = object.find(key);
  if (!found || found->is_null()) return std::string();
  if (!found->is_string()) {
    return fail(Code::kInvalid, "{}: expected a string, found {}", key,
                json::type_name(found->type()));
  }
  return std::string(found->text());
}

Result<Tool> read_tool(const Value& entry) {
  const auto tool = entry.find("tool");
  const auto function = tool ? tool->find("function") : std::nullopt;
  if (!function || !function->is_object())
    return fail(Code::kInvalid, "tool.function: expected an object");
  Tool out;
  SIGNALBOX_TRY(out.name, text_of(*function, "name"));
  if (out.name.empty()) return fail(Code::kInvalid, "tool.function.name: missing or empty");
  SIGNALBOX_TRY(out.description, text_of(entry, "description"));
  if (out.description.empty()) {
    SIGNALBOX_TRY(out.description, text_of(*function, "description"));
  }
  SIGNALBOX_TRY(out.category, text_of(entry, "category"));
  const auto tags = entry.find("tags");
  if (tags && !tags->is_array() && !tags->is_null())
    return fail(Code::kInvalid, "tags: expected an array, found {}", json::type_name(tags->type()));
  if (tags) {
    for (const Value& tag : tags->items()) {
      if (!tag.is_string())
        return fail(Code::kInvalid, "tags: expected strings, found {}",
                    json::type_name(tag.type()));
      out.tags.emplace_back(tag.text());
    }
  }
  out.definition = tool->raw();
  return out;
}

}  // namespace

Result<std::vector<Tool>> parse_database(std::string text) {
  SIGNALBOX_TRY(const json::Document document,
                json::Document::parse(std::move(text), {.bytes = kFileBytesMax}));
  if (!document.root().is_array())
    return fail(Code::kInvalid, "expected an array of tools, found an object");
  std::vector<Tool> out;
  std::unordered_set<std::string> names;
  for (const Value& entry : document.root().items()) {
    if (out.size() == kToolsMax) return fail(Code::kTooLarge, "more than {} tools", kToolsMax);
    auto tool = read_tool(entry);
    if (!tool) return fail_in(fmt::format("[{}]", out.size()), std::move(tool).error());
    if (!names.insert(tool->name).second) {
      return fail(Code::kInvalid, "[{}]: tool.function.name: {} appears twice", out.size(),
                  json::quote_briefly(tool->name));
    }
    out.push_back(*std::move(tool));
  }
  return out;
}

Result<std::vector<Tool>> read_database(const std::string& path) {
  SIGNALBOX_TRY(const MappedFile file, MappedFile::open(path));
  if (file.text().size() > kFileBytesMax)
    return fail(Code::kTooLarge, "{}: {} bytes, at most {} are read", path, file.text().size(),
                kFileBytesMax);
  auto tools = parse_database(std::string(file.text()));
  if (!tools) return fail_in(path, std::move(tools).error());
  return tools;
}

std::string words_of_tool(std::string_view name, std::string_view description) {
  std::string out(name);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == '_' || c == '-' || c == '.'; }, ' ');
  if (!description.empty()) out.append(" ").append(description);
  return out;
}

}  // namespace signalbox::plugins
