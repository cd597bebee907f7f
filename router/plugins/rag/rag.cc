// Servers require that the result of a tool follows a call of it, so both are added.

#include "router/plugins/rag/rag.h"

#include <optional>

#include "base/json_writer.h"
#include "base/sha256.h"

namespace signalbox::plugins {
namespace {

constexpr uint64_t kCharactersByDefault = 10'000;
constexpr std::string_view kBetween = "\n\n---\n\n";
constexpr std::string_view kTool = "search_documents";
constexpr size_t kCallIdSize = 9;  // Mistral's templates accept no other length

/// The number of bytes of the first `characters` characters.
size_t prefix_bytes(std::string_view text, uint64_t characters) {
  for (size_t at = 0; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
    if (begins && characters-- == 0) return at;
  }
  return text.size();
}

}  // namespace

std::string_view name_of(RagOutcome outcome) {
  switch (outcome) {
    case RagOutcome::kUnused:
      return "";
    case RagOutcome::kAdded:
      return "added";
    case RagOutcome::kNothing:
      return "nothing";
    case RagOutcome::kFailed:
      return "failed";
  }
  return "";
}

std::string join_documents(const config::RagPlugin& plugin,
                           std::span<const std::string> documents) {
  std::string out;
  for (const std::string& document : documents) {
    if (!out.empty()) out += kBetween;
    out += document;
  }
  const uint64_t characters =
      plugin.max_context_length > 0 ? plugin.max_context_length : kCharactersByDefault;
  if (const size_t kept = prefix_bytes(out, characters); kept < out.size()) {
    out.resize(kept);
    out += "...";
  }
  return out;
}

bool add_as_tool_result(std::string_view text, json::Value messages,
                        std::vector<splice::Edit>& edits) {
  std::optional<json::Value> last;
  for (const json::Value& message : messages.items()) {
    const auto role = message.find("role");
    if (role && role->is_string() && role->text() == "user") last = message;
  }
  if (!last) return false;
  // Equal documents give equal bytes, which servers can take from their prefix caches.
  const std::string id = sha256_hex(text).substr(0, kCallIdSize);
  json::Writer call;
  call.begin_object().member("role", "assistant").member("content", "");
  call.key("tool_calls").begin_array().begin_object();
  call.member("id", id).member("type", "function").key("function").begin_object();
  call.member("name", kTool).member("arguments", "{}").end_object().end_object().end_array();
  json::Writer result;
  result.begin_object().member("role", "tool").member("tool_call_id", id).member("content", text);
  edits.push_back({last->end(), last->end(),
                   fmt::format(",{},{}", call.end_object().take(), result.end_object().take())});
  return true;
}

}  // namespace signalbox::plugins
