#pragma once
// The keys of plugins. Each plugin's folder has a keys.cc with its table and its checks, which is a
// part of the library signalbox_config: a configuration is read without the code of the plugins.

#include "router/config/sections.h"

namespace signalbox::config {

constexpr std::string_view kLeavesRequest = "false leaves the request unchanged. Default: true.";
constexpr std::string_view kLeavesReply = "false leaves replies unchecked. Default: true.";

template <class S>
constexpr Key enabled(std::string_view why) {
  return boolean(FIELD(S, enabled), why);
}

}  // namespace signalbox::config
