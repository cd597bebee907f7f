// A server may answer a POST with a stream of events. It ends the stream after the response, so the
// stream is read like any other body.

#include "router/retrieval/mcp.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_set>

#include "base/ascii.h"
#include "base/json_writer.h"
#include "router/dialects/events.h"
#include "router/retrieval/formats.h"

namespace signalbox::retrieval::mcp {
namespace {

constexpr uint32_t kDepthMax = 32;
constexpr std::array<std::string_view, 3> kVersions{"2025-03-26", kVersion, "2025-11-25"};

json::Writer message() {
  json::Writer out;
  out.begin_object().member("jsonrpc", "2.0");
  return out;
}

bool answers(const json::Document& document, int64_t id) {
  const json::Value root = document.root();
  const auto known = root.find("id");
  if (!known || !(root.find("result") || root.find("error"))) return false;
  const auto number = known->integer();
  return number && *number == id;
}

std::optional<json::Document> response_in(std::string text, int64_t id) {
  auto document =
      json::Document::parse(std::move(text), {.bytes = kReplyBytesMax, .depth = kDepthMax});
  if (!document || !answers(*document, id)) return std::nullopt;
  return *std::move(document);
}

Result<std::optional<json::Document>> response_in_events(std::string_view body, int64_t id) {
  std::optional<json::Document> out;
  const auto take = [&](std::string_view data) -> Result<void> {
    if (!out) out = response_in(std::string(data), id);
    return {};
  };
  dialects::EventReader events;
  SIGNALBOX_TRY_VOID(events.push(body, take));
  SIGNALBOX_TRY_VOID(events.finish(take));
  return out;
}

/// The result of a response; the server's own error is kUpstream with its code.
Result<json::Value> result_of(const json::Document& response) {
  if (const auto error = response.root().find("error")) {
    const auto code = error->find("code");
    const auto number = code ? code->integer() : Result<int64_t>(0);
    return fail(Code::kUpstream, "it returned the error {}", number ? *number : 0);
  }
  const auto result = response.root().find("result");
  if (!result || !result->is_object()) return fail(Code::kUpstream, "the response has no result");
  return *result;
}

bool is_true(const std::optional<json::Value>& value) {
  return value && value->is_bool() && value->boolean();
}

/// The text of a part of a tool's result: its own, or that of an embedded resource.
std::string_view text_of_part(const json::Value& part) {
  auto text = part.find("text");
  if (const auto resource = part.find("resource"); !text && resource) text = resource->find("text");
  return text && text->is_string() ? text->text() : "";
}

}  // namespace

bool is_known(std::string_view version) {
  return std::find(kVersions.begin(), kVersions.end(), version) != kVersions.end();
}

std::string write_initialize(int64_t id) {
  json::Writer out = message();
  out.member("id", id).member("method", "initialize").key("params").begin_object();
  out.member("protocolVersion", kVersion).key("capabilities").begin_object().end_object();
  out.key("clientInfo").begin_object().member("name", "signalbox");
  out.member("version", SIGNALBOX_VERSION).end_object().end_object();
  return out.end_object().take();
}

std::string write_initialized() {
  return message().member("method", "notifications/initialized").end_object().take();
}

std::string write_call(int64_t id, std::string_view tool, std::string_view arguments) {
  json::Writer out = message();
  out.member("id", id).member("method", "tools/call").key("params").begin_object();
  out.member("name", tool).key("arguments").raw(arguments).end_object();
  return out.end_object().take();
}

Result<json::Document> read_response(std::string_view content_type, std::string body, int64_t id) {
  const std::string_view type = content_type.substr(0, content_type.find_first_of("; \t"));
  std::optional<json::Document> found;
  if (ascii::iequals(type, "text/event-stream")) {
    SIGNALBOX_TRY(found, response_in_events(body, id));
  } else {
    found = response_in(std::move(body), id);
  }
  if (!found) return fail(Code::kUpstream, "the reply has no response to the request");
  return *std::move(found);
}

Result<std::string> read_initialize(const json::Document& response) {
  SIGNALBOX_TRY(const json::Value result, result_of(response));
  const auto version = result.find("protocolVersion");
  if (!version || !version->is_string() || !is_known(version->text()))
    return fail(Code::kUpstream, "it requires another version of the protocol than {}", kVersion);
  return std::string(version->text());
}

Result<std::vector<std::string>> read_call(const json::Document& response, size_t most) {
  SIGNALBOX_TRY(const json::Value result, result_of(response));
  if (is_true(result.find("isError"))) return fail(Code::kUpstream, "the tool reported an error");
  const auto content = result.find("content");
  if (!content || !content->is_array())
    return fail(Code::kUpstream, "the result of the tool has no content");
  std::vector<std::string> out;
  std::unordered_set<std::string_view> known{""};
  for (const json::Value part : content->items()) {
    if (out.size() == most) break;
    const std::string_view text = text_of_part(part);
    if (known.insert(text).second) out.emplace_back(text);
  }
  return out;
}

}  // namespace signalbox::retrieval::mcp
