// Every request is searched for the member: two passes over members that have been parsed anyway.

#include "router/contexts/refs.h"

#include <optional>

#include "base/json_writer.h"
#include "base/sha256.h"
#include "router/contexts/context.h"
#include "router/splice/object_editor.h"

namespace signalbox::contexts {
namespace {

constexpr std::string_view kMetadata = "metadata";
constexpr std::string_view kRefs = "context_refs";
constexpr std::string_view kPath = "metadata.context_refs";
constexpr std::string_view kIdPrefix = "ctx_";
constexpr size_t kDigits = 64;
constexpr std::string_view kBetween = ", ";

/// Returns the context_refs member of each `metadata` object that has one.
std::vector<json::Value> find_refs(const json::Document& request) {
  std::vector<json::Value> out;
  for (const json::Member& outer : request.root().members()) {
    if (outer.key != kMetadata) continue;
    for (const json::Member& inner : outer.value.members()) {
      if (inner.key == kRefs) out.push_back(inner.value);
    }
  }
  return out;
}

Result<void> add_id(std::string_view text, const std::string& path, std::vector<std::string>& out) {
  if (!is_id(text))
    return fail(Code::kInvalid, "{}: expected an id such as {}0f3a..., found {}", path, kIdPrefix,
                json::quote_briefly(text));
  out.emplace_back(text);
  return {};
}

Result<std::vector<std::string>> ids_of_text(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(kBetween), text.size());
    if (end > 0) {
      SIGNALBOX_TRY_VOID(add_id(text.substr(0, end), std::string(kPath), out));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

Result<std::vector<std::string>> ids_of_list(const json::Value& list) {
  std::vector<std::string> out;
  for (const json::Value& item : list.items()) {
    const std::string path = fmt::format("{}[{}]", kPath, out.size());
    if (!item.is_string())
      return fail(Code::kInvalid, "{}: expected a string, found {}", path,
                  json::type_name(item.type()));
    SIGNALBOX_TRY_VOID(add_id(item.text(), path, out));
  }
  return out;
}

void remove_refs(const json::Value& root, std::vector<splice::Edit>& edits) {
  const json::Value metadata = *root.find(kMetadata);
  const auto is_other = [](const json::Member& member) { return member.key != kRefs; };
  bool others = false;
  for (const json::Member& member : metadata.members()) others |= is_other(member);
  splice::ObjectEditor editor(others ? metadata : root);
  editor.remove(others ? kRefs : kMetadata);
  editor.finish(edits);
}

}  // namespace

std::string id_of(std::string_view content) {
  return fmt::format("{}{}", kIdPrefix, sha256_hex(content));
}

bool is_id(std::string_view text) {
  if (!text.starts_with(kIdPrefix)) return false;
  text.remove_prefix(kIdPrefix.size());
  return text.size() == kDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string name_of(const Key& key) {
  return sha256_hex(fmt::format("{}\n{}", key.tenant, key.id));
}

bool has_refs(const json::Document& request) {
  return !find_refs(request).empty();
}

Result<std::vector<std::string>> read_refs(const json::Document& request, size_t refs_max) {
  const std::vector<json::Value> found = find_refs(request);
  if (found.empty()) return std::vector<std::string>{};
  // Reject it: a choice between the two would be a guess.
  if (found.size() > 1 || request.root().count(kMetadata) > 1)
    return fail(Code::kInvalid, "{}: given more than once", kPath);
  const json::Value& refs = found.front();
  if (!refs.is_string() && !refs.is_array() && !refs.is_null())
    return fail(Code::kInvalid, "{}: expected an array or a string, found {}", kPath,
                json::type_name(refs.type()));
  SIGNALBOX_TRY(std::vector<std::string> ids,
                refs.is_string() ? ids_of_text(refs.text()) : ids_of_list(refs));
  if (ids.size() > refs_max)
    return fail(Code::kInvalid, "{}: {} contexts; at most {}", kPath, ids.size(), refs_max);
  return ids;
}

Result<std::string> expand(const json::Document& request,
                           std::span<const std::shared_ptr<const std::string>> contents,
                           size_t bytes_max) {
  const json::Value root = request.root();
  size_t size = contents.size();  // for the commas
  for (const auto& content : contents) size += content->size();
  if (request.source().size() + size > bytes_max)
    return fail(Code::kTooLarge, "{}: the request has {} bytes with its contexts; at most {}",
                kPath, request.source().size() + size, bytes_max);
  const json::Value messages = *root.find("messages");
  const bool is_empty = !(messages.items().begin() != messages.items().end());
  std::string in_front;
  in_front.reserve(size);
  for (size_t i = 0; i < contents.size(); ++i) {
    in_front.append(*contents[i]);
    if (i + 1 < contents.size() || !is_empty) in_front.push_back(',');
  }
  std::vector<splice::Edit> edits;
  const size_t at = messages.begin() + 1;
  edits.push_back({at, at, std::move(in_front)});
  remove_refs(root, edits);
  return splice::apply(request.source(), std::move(edits));
}

}  // namespace signalbox::contexts
