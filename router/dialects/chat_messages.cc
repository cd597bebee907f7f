// A message with a single text is written as a string, because not every server accepts parts
// everywhere.

#include "router/dialects/chat_messages.h"

#include <algorithm>
#include <utility>

#include "base/name_case.h"
#include "router/dialects/call_signature.h"

namespace signalbox::dialects {
namespace {

constexpr size_t kLong = 64 << 10, kRoomShare = 16;
/// Places of shorter texts are not worth their memory.
constexpr size_t kNoted = 512;
constexpr std::string_view kTextBegin = R"({"type":"text","text":)", kTextEnd = "}";

}  // namespace

ChatMessages ChatMessages::collector() {
  ChatMessages out;
  out.is_collector_ = true;
  return out;
}

void ChatMessages::begin(std::string_view role) {
  if (is_open(role)) return;
  end();
  role_ = role;
  separate();
  out_ += R"({"role":)";
  json::append_string(out_, role);
  out_ += R"(,"content":)";
  content_ = out_.size();
}

void ChatMessages::separate() {
  if (!out_.empty()) out_ += ',';
}

// Completes the content. A single text loses its part.
void ChatMessages::write_content() {
  if (parts_ == 0) {
    out_ += calls_.empty() ? R"("")" : "null";
  } else if (is_a_text_) {
    out_.resize(out_.size() - kTextEnd.size());
    out_.erase(content_, 1 + kTextBegin.size());
    if (!long_texts_.empty() && long_texts_.back().at > content_) long_texts_.back().at = content_;
  } else {
    out_ += ']';
  }
}

void ChatMessages::end() {
  if (role_.empty()) return;
  if (is_collector_) {
    *this = collector();
    return;
  }
  write_content();
  if (!reasoning_.empty()) {
    out_ += R"(,"reasoning_content":)";
    json::append_string(out_, reasoning_);
  }
  if (!calls_.empty()) out_.append(R"(,"tool_calls":[)").append(calls_).append("]");
  out_ += '}';
  role_.clear();
  parts_ = 0;
  std::string().swap(calls_);  // an assignment would keep the memory
  std::string().swap(reasoning_);
}

void ChatMessages::add(std::string_view json, bool is_text) {
  is_a_text_ = is_text && parts_ == 0;
  ++parts_;
  if (is_collector_) {
    collected_.push_back({std::string(json), is_text});
    return;
  }
  out_ += parts_ == 1 ? '[' : ',';
  // Leaves room for what follows, so that a long part is not copied to twice its size.
  if (json.size() > kLong) out_.reserve(out_.size() + json.size() + json.size() / kRoomShare);
  if (is_text) out_ += kTextBegin;
  if (is_text) note_if_long(json);
  out_ += json;
  if (is_text) out_ += kTextEnd;
}

// Call it before the text is written.
void ChatMessages::note_if_long(std::string_view json) {
  if (json.size() >= kNoted) long_texts_.push_back({json, out_.size()});
}

void ChatMessages::add_text(std::string_view json) {
  add(json, true);
}

void ChatMessages::add_part(std::string_view json) {
  add(json, false);
}

void ChatMessages::add_reasoning(std::string_view text) {
  if (!reasoning_.empty()) reasoning_ += '\n';
  reasoning_ += text;
}

void ChatMessages::add_call(std::string_view id, std::string_view name,
                            std::string_view arguments) {
  const CallId call = split_id(id);
  json::Writer out;
  out.begin_object().member("id", call.id).member("type", "function").key("function");
  out.begin_object().member("name", name).member("arguments", arguments).end_object();
  if (!call.signature.empty()) {
    out.key("extra_content").begin_object().key("google").begin_object();
    out.member("thought_signature", call.signature).end_object().end_object();
  }
  out.end_object();
  calls_.append(calls_.empty() ? "" : ",").append(out.take());
}

void ChatMessages::add_result(std::string_view call, std::string_view content_json) {
  end();
  separate();
  out_ += R"({"role":"tool","tool_call_id":)";
  json::append_string(out_, split_id(call).id);
  out_ += R"(,"content":)";
  note_if_long(content_json);
  out_.append(content_json).append("}");
}

std::vector<std::string> ChatMessages::take_texts(std::vector<std::string>& rest) {
  std::vector<std::string> texts;
  for (Part& part : collected_) (part.is_text ? texts : rest).push_back(std::move(part.json));
  *this = collector();
  return texts;
}

std::string ChatMessages::take() {
  end();
  return std::exchange(out_, {});
}

Error no_equivalent(std::string_view path) {
  return {Code::kInvalid,
          fmt::format("{}: has no equivalent in a chat completion, the API of the model's server",
                      path)};
}

namespace {

bool is_system(const json::Value& message) {
  const auto role = message.find("role");
  return role && role->is_string() && (role->text() == "system" || role->text() == "developer");
}

/// The content of several messages: one text if all of them are texts, otherwise a list of parts.
std::string joined_content(const std::vector<json::Value>& contents) {
  const bool all_texts = std::all_of(contents.begin(), contents.end(),
                                     [](const json::Value& each) { return each.is_string(); });
  std::string out;
  for (const json::Value& content : contents) {
    const std::string_view raw = content.raw();
    if (all_texts) {
      out.append(out.empty() ? "" : "\\n\\n").append(raw.substr(1, raw.size() - 2));
      continue;
    }
    const std::string parts = content.is_string()
                                  ? fmt::format(R"({{"type":"text","text":{}}})", raw)
                                  : std::string(raw.substr(1, raw.size() - 2));
    if (!parts.empty()) out.append(out.empty() ? "" : ",").append(parts);
  }
  return all_texts ? fmt::format("\"{}\"", out) : fmt::format("[{}]", out);
}

}  // namespace

bool may_need_gathering(std::string_view messages) {
  // A quote inside a text is escaped, so a match is a message of ours.
  return messages.find(R"({"role":"system")", 1) != std::string_view::npos ||
         messages.find(R"({"role":"developer")", 1) != std::string_view::npos;
}

std::string gather_system(std::string messages) {
  if (!may_need_gathering(messages)) return messages;
  const auto document = json::Document::parse(fmt::format("[{}]", messages));
  if (!document) return messages;
  std::vector<json::Value> contents;
  std::string role, rest;
  bool in_front = true;
  for (const json::Value& message : document->root().items()) {
    const auto content = message.find("content");
    if (is_system(message) && content && (content->is_string() || content->is_array())) {
      in_front = in_front && contents.empty() && rest.empty();
      if (contents.empty()) role = message.find("role")->text();
      contents.push_back(*content);
    } else {
      rest.append(rest.empty() ? "" : ",").append(message.raw());
    }
  }
  if (in_front) return messages;
  return fmt::format(R"({{"role":"{}","content":{}}}{}{})", role, joined_content(contents),
                     rest.empty() ? "" : ",", rest);
}

bool holds(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

tl::unexpected<Error> wrong_type(std::string_view path, std::string_view expected,
                                 const json::Value& found) {
  return wrong(path, "expected {}, found {}", expected, json::type_name(found.type()));
}

std::string join_path(std::string_view path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

std::optional<json::Value> given(const json::Value& object, std::string_view key) {
  const auto value = object.find(key);
  return value && !value->is_null() ? value : std::nullopt;
}

Result<std::string_view> text_member(const json::Value& object, std::string_view key,
                                     std::string_view path) {
  const auto value = object.find(key);
  if (!value) return wrong(join_path(path, key), "missing");
  if (!value->is_string()) return wrong_type(join_path(path, key), "a string", *value);
  return value->text();
}

Result<std::string_view> optional_text(const json::Value& object, std::string_view key,
                                       std::string_view path) {
  return given(object, key) ? text_member(object, key, path) : std::string_view{};
}

Result<void> refuse_repeats(const json::Value& object, std::span<const std::string_view> keys,
                            std::string_view path) {
  for (const json::Member& member : object.members()) {
    if (holds(keys, member.key) && object.count(member.key) > 1)
      return wrong(join_path(path, member.key), "given more than once");
    const auto plain = in_lower_case(member.key);
    if (plain && holds(keys, *plain))
      return wrong(join_path(path, member.key),
                   "expected \"{}\": some servers take one for the other", *plain);
  }
  return {};
}

bool is_unset(const json::Value& value) {
  return value.is_null() || (value.is_bool() && !value.boolean()) ||
         (value.is_array() && !(value.items().begin() != value.items().end()));
}

void drop_members(const json::Value& object, std::span<const std::string_view> members,
                  std::string_view name, Losses& losses) {
  for (const json::Member& member : object.members()) {
    if (holds(members, member.key) && !is_unset(member.value))
      losses.drop(join_path(name, member.key), member.value);
  }
}

void copy_unknown(const json::Value& object, std::span<const std::string_view> known,
                  json::Writer& out) {
  for (const json::Member& member : object.members()) {
    if (!holds(known, member.key)) out.key(member.key).raw(member.value.raw());
  }
}

bool has_unknown(const json::Value& object, std::span<const std::string_view> known) {
  for (const json::Member& member : object.members()) {
    if (!holds(known, member.key)) return true;
  }
  return false;
}

}  // namespace signalbox::dialects
