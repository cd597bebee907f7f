// A reply may be 20 MB of base64, so its parts are copied as they are, once.

#include "router/plugins/image_gen/image_gen.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/json.h"
#include "base/json_writer.h"

namespace signalbox::plugins {
namespace {

constexpr uint32_t kSideDefault = 1024, kStepsDefault = 50;
constexpr double kScaleDefault = 4;

bool is_openai(const config::ImageGenPlugin& plugin) {
  return plugin.backend == "openai";
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = std::min(text.find_first_not_of(kBlanks), text.size());
  text.remove_prefix(first);
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

std::string_view without_prefix(std::span<const std::string> prefixes, std::string_view text) {
  text = trimmed(text);
  for (const std::string& prefix : prefixes) {
    if (prefix.empty() || !ascii::iequals(text.substr(0, prefix.size()), prefix)) continue;
    const std::string_view rest = trimmed(text.substr(prefix.size()));
    return rest.empty() ? text : rest;
  }
  return text;
}

uint32_t or_default(uint32_t value, uint32_t fallback) {
  return value == 0 ? fallback : value;
}

uint32_t steps_of(const config::ImageGenPlugin& plugin) {
  const uint32_t steps = or_default(plugin.backend_config.num_inference_steps, kStepsDefault);
  return plugin.max_inference_steps == 0 ? steps : std::min(steps, plugin.max_inference_steps);
}

std::optional<json::Value> first_of(const json::Value& reply, std::string_view list) {
  const auto found = reply.find(list);
  if (!found) return std::nullopt;
  for (const json::Value& item : found->items()) return item;
  return std::nullopt;
}

std::optional<std::string_view> text_in(const json::Value& object, std::string_view name) {
  const auto found = object.find(name);
  if (!found || !found->is_string()) return std::nullopt;
  return found->text();
}

/// A URL in two parts: a reply with base64 lacks the prefix that makes it a data URL.
struct ImageUrl {
  std::string prefix;
  std::string_view rest;  // in the reply
};

std::optional<ImageUrl> openai_url(const json::Value& reply) {
  const auto image = first_of(reply, "data");
  if (!image) return std::nullopt;
  if (const auto url = text_in(*image, "url")) return ImageUrl{"", *url};
  const auto base64 = text_in(*image, "b64_json");
  if (!base64) return std::nullopt;
  const std::string_view format = text_in(reply, "output_format").value_or("png");
  const bool is_other = format == "jpeg" || format == "webp";
  return ImageUrl{fmt::format("data:image/{};base64,", is_other ? format : "png"), *base64};
}

std::optional<ImageUrl> chat_url(const json::Value& reply) {
  const auto choice = first_of(reply, "choices");
  const auto message = choice ? choice->find("message") : std::nullopt;
  const auto content = message ? message->find("content") : std::nullopt;
  if (!content) return std::nullopt;
  for (const json::Value& part : content->items()) {
    const auto image = part.find("image_url");
    if (!image) continue;
    if (const auto url = text_in(*image, "url")) return ImageUrl{"", *url};
  }
  return std::nullopt;
}

/// Returns true if a client may open the URL as an image. The URL can be put into a link of
/// Markdown and a string of JSON, because no character of it ends one of these.
bool is_image_url(const ImageUrl& url) {
  const std::string_view head = url.prefix.empty() ? url.rest : url.prefix;
  const bool is_known = head.starts_with("https://") || head.starts_with("http://") ||
                        head.starts_with("data:image/");
  return is_known && std::all_of(url.rest.begin(), url.rest.end(), [](char c) {
           return c > 0x20 && c < 0x7F &&
                  std::string_view("()<>\"\\").find(c) == std::string_view::npos;
         });
}

int64_t count_of(const json::Value& usage, std::string_view name, std::string_view other) {
  auto found = usage.find(name);
  if (!found) found = usage.find(other);
  return found ? std::max<int64_t>(found->integer().value_or(0), 0) : 0;
}

void add_usage(const json::Value& reply, json::Writer& out) {
  const auto usage = reply.find("usage");
  if (!usage || !usage->is_object()) return;
  const int64_t read = count_of(*usage, "prompt_tokens", "input_tokens");
  const int64_t written = count_of(*usage, "completion_tokens", "output_tokens");
  out.key("usage").begin_object().member("prompt_tokens", read);
  out.member("completion_tokens", written).member("total_tokens", read + written).end_object();
}

}  // namespace

std::string_view image_path(const config::ImageGenPlugin& plugin) {
  return is_openai(plugin) ? "/v1/images/generations" : "/v1/chat/completions";
}

std::string write_image_request(const config::ImageGenPlugin& plugin,
                                std::span<const std::string> prefixes, std::string_view text) {
  const config::ImageGenPlugin::Backend& backend = plugin.backend_config;
  const std::string_view prompt = without_prefix(prefixes, text);
  const uint32_t width = or_default(plugin.default_width, kSideDefault);
  const uint32_t height = or_default(plugin.default_height, kSideDefault);
  json::Writer out;
  out.begin_object();
  if (!plugin.server.provider_model_id.empty())
    out.member("model", plugin.server.provider_model_id);
  if (is_openai(plugin)) {
    out.member("prompt", prompt).member("n", 1);
    out.member("size", fmt::format("{}x{}", width, height));
    if (!backend.quality.empty()) out.member("quality", backend.quality);
    if (!backend.style.empty()) out.member("style", backend.style);
    return out.end_object().take();
  }
  out.key("messages").begin_array().begin_object().member("role", "user");
  out.member("content", prompt).end_object().end_array();
  out.key("extra_body").begin_object().member("width", int64_t{width});
  out.member("height", int64_t{height});
  out.member("num_inference_steps", int64_t{steps_of(plugin)});
  out.member("true_cfg_scale", backend.cfg_scale > 0 ? backend.cfg_scale : kScaleDefault);
  if (backend.seed) out.member("seed", *backend.seed);
  return out.end_object().end_object().take();
}

Result<std::string> read_image_reply(const config::ImageGenPlugin& plugin, std::string body,
                                     const ImageAnswer& answer) {
  const auto document = json::Document::parse(std::move(body));
  const auto url = !document           ? std::nullopt
                   : is_openai(plugin) ? openai_url(document->root())
                                       : chat_url(document->root());
  if (!url) return fail(Code::kUpstream, "the image server's reply contains no image");
  if (!is_image_url(*url)) {
    return fail(Code::kUpstream,
                "the image server's reply contains no URL that begins with http:, https: or "
                "data:image/ and consists of characters of a URL");
  }
  json::Writer out;
  out.begin_object().member("id", answer.id).member("object", "chat.completion");
  out.member("created", answer.created).member("model", answer.model);
  out.key("choices").begin_array().begin_object().member("index", 0);
  out.key("message").begin_object().member("role", "assistant");
  out.key("content");
  if (answer.as_text) {
    out.raw(fmt::format("\"![image]({}{})\"", url->prefix, url->rest));
  } else {
    out.begin_array().begin_object().member("type", "image_url");
    out.key("image_url").begin_object().key("url");
    out.raw(fmt::format("\"{}{}\"", url->prefix, url->rest)).end_object().end_object().end_array();
  }
  out.key("refusal").null().end_object();
  out.key("logprobs").null().member("finish_reason", "stop").end_object().end_array();
  add_usage(document->root(), out);
  return out.end_object().take();
}

}  // namespace signalbox::plugins
