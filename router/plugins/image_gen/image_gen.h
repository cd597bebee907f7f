#pragma once
// The plugin image_gen: an image server answers a chat. The requests follow OpenAI's images API and
// the chat API of vLLM-Omni, as the vLLM Semantic Router sends them.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "router/config/plugins.h"

namespace signalbox::plugins {

/// The path of the plugin's server.
std::string_view image_path(const config::ImageGenPlugin& plugin);

/// Returns the body of the request for an image of `text`. The first of `prefixes` with which the
/// text begins, in any case, is left out, unless nothing would remain.
std::string write_image_request(const config::ImageGenPlugin& plugin,
                                std::span<const std::string> prefixes, std::string_view text);

/// The parts of the client's answer that do not come from the image server.
struct ImageAnswer {
  std::string_view id;     // of the completion
  int64_t created = 0;     // seconds since 1970
  std::string_view model;  // the name that the client gets
  /// True: the message is a text with the image as Markdown, for readers that know only text.
  /// False: its content is a list with one part, an image_url.
  bool as_text = false;
};

/// Returns a chat completion with the image of a reply: its URL, or a data URL with the image. It
/// has the usage of the reply if the server reports one. Errors: kUpstream, for a reply without an
/// image or with an invalid URL; the message contains nothing of the reply.
Result<std::string> read_image_reply(const config::ImageGenPlugin& plugin, std::string body,
                                     const ImageAnswer& answer);

/// Adds an image to a chat completion. `image` is a completion that read_image_reply() returned, or
/// "" if there is none. The content of the first choice becomes a list: its text, unless that is
/// blank, and the image. With `as_text`, which `image` was made with too, it becomes one text that
/// ends with the image. Without an image, a content that is not text stays. Errors: kUpstream if
/// `completion` has no message.
Result<std::string> join_text_and_image(std::string completion, std::string_view image,
                                        bool as_text);

}  // namespace signalbox::plugins
