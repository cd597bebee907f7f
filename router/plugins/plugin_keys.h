#pragma once
// The keys of plugins. Each plugin's folder has a keys.cc with its table and its checks, which is a
// part of the library signalbox_config: a configuration is read without the code of the plugins.

#include <array>

#include "router/config/sections.h"

namespace signalbox::config {

constexpr std::string_view kLeavesRequest = "false leaves the request unchanged. Default: true.";
constexpr std::string_view kLeavesReply = "false leaves replies unchecked. Default: true.";

template <class S>
constexpr Key enabled(std::string_view why) {
  return boolean(FIELD(S, enabled), why);
}

/// The keys of the control by clients. A plugin without a lifetime or a target gives the
/// consequence of that key; "" is for one that has an effect.
constexpr std::array<Key, 5> request_controls(std::string_view no_ttl, std::string_view no_target) {
  return {
      enabled<RequestControls>("Clients may control the plugin by a header."),
      string(FIELD(RequestControls, header), "Name of the header."),
      texts(FIELD(RequestControls, allowed), "Values that clients may send."),
      count(FIELD(RequestControls, max_ttl_seconds), "Greatest `ttl` of a client, in seconds.")
          .no_effect(no_ttl),
      count(FIELD(RequestControls, max_target_tokens), "Greatest `target` of a client, in tokens.")
          .no_effect(no_target),
  };
}

}  // namespace signalbox::config
