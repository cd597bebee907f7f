// Digests one text of length-prefixed parts. A request is written once, with a mark in place of its
// question, and the question follows it.

#include "router/cache/key.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/sha256.h"

namespace signalbox::cache {
namespace {

// A change of the format must change this, so that old entries are no longer found.
constexpr std::string_view kKeyVersion = "signalbox response 1";

constexpr std::array<std::string_view, 8> kDeliveryMembers = {
    "stream", "stream_options",   "user",         "safety_identifier",
    "store",  "prompt_cache_key", "service_tier", "metadata"};

void append(std::string& out, char kind, std::string_view bytes) {
  out.push_back(kind);
  out += std::to_string(bytes.size());
  out.push_back(':');
  out += bytes;
}

/// Writes a request without the texts of its last question.
class Writer {
 public:
  Writer(std::string& out, std::optional<json::Value> last) : out_(out), last_(last) {}

  void request(const json::Value& root) {
    std::vector<json::Member> members;
    for (const json::Member& member : root.members()) {
      if (std::ranges::find(kDeliveryMembers, member.key) == kDeliveryMembers.end())
        members.push_back(member);
    }
    std::ranges::stable_sort(members, {}, &json::Member::key);
    for (const json::Member& member : members) {
      append(out_, 'k', member.key);
      value(member.value);
    }
  }

  const std::string& question() const { return question_; }

 private:
  void value(const json::Value& of) {
    if (last_ && of.begin() == last_->begin()) return of.is_string() ? text(of) : last_message(of);
    switch (of.type()) {
      case json::Type::kString:
        return append(out_, 's', of.text());
      case json::Type::kArray:
        out_.push_back('[');
        for (const json::Value& item : of.items()) value(item);
        return out_.push_back(']');
      case json::Type::kObject:
        out_.push_back('{');
        for (const json::Member& member : of.members()) {
          append(out_, 'k', member.key);
          value(member.value);
        }
        return out_.push_back('}');
      default:
        return append(out_, 'v', of.raw());
    }
  }

  void last_message(const json::Value& message) {
    out_.push_back('{');
    for (const json::Member& member : message.members()) {
      append(out_, 'k', member.key);
      if (member.key == "content") {
        content(member.value);
      } else {
        value(member.value);
      }
    }
    out_.push_back('}');
  }

  void content(const json::Value& content) {
    if (content.is_string()) return text(content);
    if (!content.is_array()) return value(content);
    out_.push_back('[');
    for (const json::Value& part : content.items()) {
      if (!part.is_object()) {
        value(part);
        continue;
      }
      out_.push_back('{');
      for (const json::Member& member : part.members()) {
        append(out_, 'k', member.key);
        if (member.key == "text" && member.value.is_string()) {
          text(member.value);
        } else {
          value(member.value);
        }
      }
      out_.push_back('}');
    }
    out_.push_back(']');
  }

  void text(const json::Value& text) {
    out_.push_back('?');
    if (!question_.empty()) question_.push_back('\n');
    question_ += text.text();
  }

  std::string& out_;
  std::optional<json::Value> last_;
  std::string question_;
};

std::optional<json::Value> last_question(const json::Value& root) {
  auto messages = root.find("messages");
  if (!messages) messages = root.find("input");  // of a response
  if (messages && messages->is_string()) return messages;
  std::optional<json::Value> last;
  if (messages) {
    for (const json::Value& message : messages->items()) last = message;
  }
  const auto role = last ? last->find("role") : std::nullopt;
  const bool is_user = role && role->is_string() && role->text() == "user";
  return is_user ? last : std::nullopt;
}

}  // namespace

Key key_of(const json::Value& request, Apart apart) {
  std::string text;
  append(text, 'v', kKeyVersion);
  for (const auto& [name, value] : apart) {
    append(text, 'n', name);
    append(text, 's', value);
  }
  Writer writer(text, last_question(request));
  writer.request(request);
  Key out;
  out.partition = sha256_hex(text);
  out.question = writer.question();
  append(text, 'q', out.question);
  out.id = sha256_hex(text);
  return out;
}

}  // namespace signalbox::cache
